"""What a recall of eight costs a prompt, beside all that was ever observed: the table is printed with its method."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from memories.access import Actor, actor_for_user
from memories.agent_recall import recall_for_agent
from memories.models import Scope
from memories.services import people, remember
from tests.benchmarks import databases
from tests.benchmarks.corpus import Tell

SESSIONS: Final = (1, 10, 30, 100)
PREDICTED: Final = {1: 0, 10: 12, 30: 71, 100: 90}  # percent, registered with a band of 15 points before any run
BAND: Final = 15
QUERY: Final = "follow up with prospects and close pending deals this week"
SEED: Final = 42
TOKENS_A_WORD: Final = 1.33
METHOD: Final = (
    f"One session leaves one observation of 50 to 70 words about sales; they are shuffled by the seed {SEED} and "
    "stored by `remember` in a decaying scope. Full history is all of them; recall is what the product gives for "
    f"“{QUERY}” without naming a number, which is 8 there, found by words alone. A token is a word × {TOKENS_A_WORD}. "
    "Whether the eight are the right ones is not measured here, and a prompt that is cut to the newest eight would be "
    "as short."
)
_FIRMS: Final = ("Harbour Mills", "Northgate", "Alder and Sons", "Brightwater", "Quarry Lane", "Tidewell", "Fernhill")
_ACTS: Final = (
    "called the prospect and went through the offer line by line",
    "met the prospects at the fair and showed them the new range",
    "sent the pending contract to their legal team for a last look",
    "agreed to follow up once the budget of the quarter is known",
    "closed two small deals and left the larger deal pending",
)
_NEXT: Final = (
    "They want a follow up this week, before their board meets on Thursday.",
    "The deal is pending until their buyer returns from leave next week.",
    "We should close this week, because the discount ends with the month.",
    "Follow up with the finance team of the prospect about the payment terms.",
)
_ASIDES: Final = (
    "Their present supplier delivers late and nobody answers the telephone after four.",
    "The warehouse is being rebuilt, so that deliveries go to the second gate until spring.",
    "Price matters less to them than the length of the guarantee and who repairs on site.",
    "Two of their competitors buy from us already, which they know and asked about.",
    "Invoices go to the head office and have to bear the number of the order.",
)


@dataclass(frozen=True, slots=True)
class Tokens:
    sessions: int
    full: float
    recalled: float
    given: int

    @property
    def reduction(self) -> float:
        """Percent of the full history that a prompt is spared."""
        return 100 * (1 - self.recalled / self.full)


def observations() -> list[str]:
    chance = Random(SEED)
    made = [_observation(chance, number) for number in range(max(SESSIONS))]
    chance.shuffle(made)
    return made


def _observation(chance: Random, number: int) -> str:
    first, second = chance.sample(_ASIDES, 2)
    act, further = chance.sample(_ACTS, 2)
    firm = f"{chance.choice(_FIRMS)} {number}"
    return f"At {firm} we {act}, and {further}. {first} {second} {chance.choice(_NEXT)}"


def tokens(texts: Sequence[str]) -> float:
    return TOKENS_A_WORD * sum(len(text.split()) for text in texts)


def figures(actor: Actor, scope: Scope) -> list[Tokens]:
    """*scope* decays and is empty."""
    texts, stored, found = observations(), 0, []
    for sessions in SESSIONS:
        for text in texts[stored:sessions]:
            remember(actor=actor, scope=scope, content=text, ring=False)
        stored = sessions
        given = [result.excerpt for result in recall_for_agent(actor=actor, query=QUERY, scopes=[scope.slug]).results]
        found.append(Tokens(sessions, tokens(texts[:sessions]), tokens(given), len(given)))
    return found


def measure(tell: Tell) -> list[Tokens]:
    """In a database of its own, which is dropped."""
    name = databases.name_of("tokens")
    databases.drop(name)
    with databases.opened(name):
        tell("Counting the tokens of a recall beside those of the whole history.")
        scope = Scope.objects.create(owner=people.create_owner(), slug="sales", name="Sales", retention="decaying")
        found = figures(actor_for_user(scope.owner), scope)
    databases.drop(name)
    return found


def table(found: Sequence[Tokens]) -> str:
    head = f"| sessions | full history | recall | given | spared | predicted |\n|{' ---: |' * 6}\n"
    rows = (
        f"| {one.sessions} | {one.full:,.0f} tokens | {one.recalled:,.0f} tokens | {one.given} | {one.reduction:.0f} % "
        f"| {PREDICTED[one.sessions]} ± {BAND} % |"
        for one in found
    )
    return f"{head}{'\n'.join(rows)}\n\n{METHOD}"

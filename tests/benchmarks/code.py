"""Verdicts over a working tree: all anchors at once with nothing known, and what they add to a recall."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final
from uuid import UUID

from memories import checkout
from memories.access import Actor, actor_for_user
from memories.anchors import looked_at
from memories.models import Anchor, Repository, Scope
from memories.recall import recall
from memories.services import AnchorSpec, people, remember
from tests.benchmarks import databases
from tests.benchmarks.corpus import LARGE, Tell

SIZE: Final = (2000, 500)  # files, anchored memories
RECALLED: Final = 40
ROUNDS: Final = 15
FUNCTIONS: Final = 6
_WORDS: Final = ("order", "price", "stock", "batch", "ledger", "route", "token", "queue", "index", "shard", "cache")


@dataclass(frozen=True, slots=True)
class Code:
    """Medians. ``cold`` in seconds, with no bytes ever seen; ``warm`` with the same bytes again. ``added_ms`` is what
    the code of RECALLED candidates adds to a recall."""

    files: int
    anchors: int
    cold: float
    warm: float
    recall_ms: float
    added_ms: float


def measure(files: int, anchors: int, folder: Path, tell: Tell) -> Code:
    """In a database and a working tree of its own, both made anew; the database is dropped."""
    name = databases.name_of("code")
    databases.drop(name)
    with databases.opened(name):
        tell(f"Anchoring {anchors:,} memories to {files:,} files.")
        tree = folder / "code"
        _write(tree, files)
        actor, memories = _anchored(tree, files, anchors)
        tell("Looking at the code.")
        cold = _median(lambda: looked_at(memories), before=checkout.forget_all)
        warm = _median(lambda: looked_at(memories))
        beside = _median(lambda: _recalled(actor))
        Anchor.objects.all().delete()
        alone = _median(lambda: _recalled(actor))
    databases.drop(name)
    return Code(files, anchors, cold, warm, 1000 * beside, 1000 * (beside - alone))


def _write(tree: Path, files: int) -> None:
    chance = Random(files)
    for number in range(files):
        path = tree / f"part{number % 40}" / f"module{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join(_function(chance, number, place) for place in range(FUNCTIONS)))


def _function(chance: Random, number: int, place: int) -> str:
    one, two, three = chance.sample(_WORDS, 3)
    return f'''def {one}_{number}_{place}({two}, {three}=None):
    """What becomes of the {two}."""
    found = []
    for {one} in {two}:
        if {one}.{three} and {one}.rank > {chance.randrange(1000)}:
            found.append({one}.{three} * {chance.randrange(1000)})
    return sorted(found, key=lambda each: each.{two}) or {three}
'''


def _anchored(tree: Path, files: int, anchors: int) -> tuple[Actor, list[UUID]]:
    scope = Scope.objects.create(owner=people.create_owner(), slug=LARGE, name=LARGE)
    Repository.objects.create(owner=scope.owner, name="code", path=str(tree)).scopes.add(scope)
    actor = actor_for_user(scope.owner)
    names = [_first_name(tree, number) for number in range(0, files, max(1, files // anchors))][:anchors]
    specs = [AnchorSpec("code", path, name) for path, name in names]
    return actor, [_remembered(actor, scope, spec, number) for number, spec in enumerate(specs)]


def _remembered(actor: Actor, scope: Scope, spec: AnchorSpec, number: int) -> UUID:
    content = _said(spec, number)
    made = remember(actor=actor, scope=scope, content=content, kind="decision", anchors=[spec], ring=False)
    return made.memory.pk


def _first_name(tree: Path, number: int) -> tuple[str, str]:
    path = f"part{number % 40}/module{number}.py"
    return path, (tree / path).read_text().partition("(")[0].removeprefix("def ")


def _said(spec: AnchorSpec, number: int) -> str:
    about = "the order function returns" if number < RECALLED else "the ledger holds"
    return f"Decision {number}: {about} what {spec.symbol} says."


def _recalled(actor: Actor) -> None:
    if not recall(actor=actor, query="what does the order function return").results:
        raise RuntimeError("Nothing was recalled, so nothing was measured.")


def _median(work: Callable[[], object], *, before: Callable[[], None] = lambda: None) -> float:
    times = []
    for _ in range(ROUNDS):
        before()
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)

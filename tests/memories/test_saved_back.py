"""What an agent was given and saves back: known again, not multiplied, and no evidence for what it was made from."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from memories.access import actor_for_token, actor_for_user
from memories.agent_recall import recall_for_agent
from memories.embedding_queue import embed_waiting
from memories.errors import NotFound
from memories.given_back import LONGEST, MOST_LIKENED, gives_back, unwrapped, worth_likening
from memories.models import AuditEntry, Link, Memory, RecallActivity, UsageEvent
from memories.services import LinkSpec, forget, remember
from memories.services.recognition import READ, RECOGNISED, on_first_embedded
from reflections.eligible import eligible
from tests.factories import make_memory, make_scope, make_token, make_user
from tests.reflections.together import at_once
from zeromemory.llm.fencing import Fence

pytestmark = pytest.mark.django_db

GATE = "The harbour gate opens at six. On Sundays it stays closed all day long. Ring twice for the night watch."
FIRST = "The harbour gate opens at six."
SUNDAYS = "On Sundays it stays closed all day long."
REWORDED = "At six o'clock in the morning the gate of the harbour is opened."
NEWS = "The crane of the north berth was painted green."
MINE = "monday"


@pytest.fixture
def agent(owner, scope):
    return actor_for_token(make_token(owner, [scope])[0], agent="coder")


@pytest.fixture
def save(agent, scope):
    def saved(content, **given):
        return remember(**{"actor": agent, "scope": scope, "content": content, "session": MINE} | given)

    return saved


def given(agent, scope, text=GATE, session=MINE, **columns):
    """A memory that the agent's recall brought."""
    memory = make_memory(text, scope=scope, author=agent.user, **columns)
    found = recall_for_agent(actor=agent, query=text[:40], session=session)
    assert memory in [result.memory for result in found.results]
    return memory


# What the text alone tells -------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrapped",
    [
        FIRST,
        f"From memory: {FIRST}",
        f"from my memory - {FIRST}",
        f"Recalled memory: “{FIRST}”",
        f"I remember: {FIRST}",
        f"> {FIRST}",
        f"- {FIRST}",
        f'"{FIRST}"',
        f"```text\n{FIRST}\n```",
        f"> From memory:\n> {FIRST}",
        Fence("abcdef0123456789").quote({"id": "1", "kind": "fact"}, FIRST),
    ],
)
def test_a_quotation_is_unwrapped(wrapped):
    assert unwrapped(wrapped) == FIRST


@pytest.mark.parametrize(
    "plain", ["Remember the gate.", "Memory is short.", "-5 degrees.", "> one\ntwo", "The note: read it.", "'", ""]
)
def test_what_is_no_quotation_stays_as_it_is(plain):
    assert unwrapped(plain) == plain


@pytest.mark.parametrize(
    ("wrapped", "inner"),
    [
        ("[begin ab]\ntext:\none\ntext:\ntwo\n[end ab]\nthree\n[end ab]", "one\ntext:\ntwo\n[end ab]\nthree"),
        ("[begin ab]\ntext:\n[end ab]", "[begin ab]\ntext:\n[end ab]"),
        ("[begin ab]\ntext:\none\n[end cd]", "[begin ab]\ntext:\none\n[end cd]"),
        ("```\none\n```\ntwo\n```", "one\n```\ntwo"),
        ("````\none\n```", "one"),
        ("```\none\n~~~", "```\none\n~~~"),
        ("```\n```", "```\n```"),
    ],
)
def test_a_fence_is_from_its_first_line_to_its_last(wrapped, inner):
    assert unwrapped(wrapped) == inner


def test_in_a_text_of_great_length_no_quotation_is_sought():
    long = f"```\n{'tide ' * (LONGEST // 5)}\n```"
    assert unwrapped(long) == long


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GATE, True),
        (GATE.upper().replace(".", ""), True),
        (SUNDAYS, True),
        (f"{FIRST} {SUNDAYS}", True),
        ("On Sundays it stays closed all…", True),
        ("On Sundays it stays closed all", False),
        ("it stays closed all day long.", False),
        (f"{FIRST} Ring twice for the night watch.", False),
        (SUNDAYS.replace("closed", "open"), False),
        (f"{GATE} Mind the step.", False),
        ("", False),
    ],
)
def test_an_excerpt_is_whole_sentences_or_was_cut_off(text, expected):
    assert gives_back(text)(GATE) is expected


def test_a_sentence_of_few_words_may_stand_in_any_text():
    assert not gives_back("It rains.")("It rains. The gate is closed today, so take the bridge.")


def test_case_and_accents_do_not_hide_whose_first_words_are_shared():
    assert gives_back("“LE CAFE D’ÉTÉ, il ferme a six heures.”")("Bonjour. Le café d'été, il ferme à six heures.")


def test_few_texts_are_likened_and_those_first_that_share_most_words():
    given = [f"{NEWS} {'also ' * number}" for number in range(20)] + [GATE, NEWS.replace("green", "red")]
    places = worth_likening(NEWS, given)
    assert len(places) == MOST_LIKENED
    assert 20 not in places
    assert worth_likening(NEWS, [GATE, NEWS.replace("green", "red"), NEWS]) == [2, 1]


# Word for word -------------------------------------------------------------------------------


@pytest.mark.behaviour("F24")
@pytest.mark.parametrize(
    "text", [GATE, GATE.lower(), f"From memory: {GATE}", f"> {GATE}", SUNDAYS, Fence("ab12cd34").quote({}, GATE)]
)
def test_what_was_given_and_is_saved_back_is_the_memory_there_is(agent, scope, save, text):
    memory = given(agent, scope, kind="gotcha")
    back = save(text)
    assert (back.memory, back.deduplicated) == (memory, True)
    assert "not stored again" in back.notices[0]
    assert Memory.objects.count() == 1
    entry = AuditEntry.objects.get(action="recognise")
    assert (entry.object_id, entry.detail["agent"]) == (str(memory.pk), "coder")


def test_sentences_far_down_in_a_long_memory_are_not_sought(agent, scope, save):
    given(agent, scope, f"{GATE} {'tide ' * (READ // 5)}. The lamp of the pier is lit at dusk.")
    assert save(SUNDAYS).deduplicated
    assert not save("The lamp of the pier is lit at dusk.").deduplicated


@pytest.mark.parametrize("target", ["not-an-id", "01890000-0000-7000-8000-000000000000"])
def test_a_quotation_with_a_link_to_nothing_is_refused_like_any_text(save, target):
    for text in (f"> {GATE}", GATE):
        with pytest.raises(NotFound, match="no such memory to link to"):
            save(text, links=[LinkSpec("relates_to", target)])


def test_over_rest_a_quotation_with_a_link_to_nothing_is_not_found(client, owner, scope):
    bearer = {"Authorization": f"Bearer {make_token(owner, [scope])[1]}"}
    sent = {"content": f"> {GATE}", "links": [{"type": "relates_to", "target": "not-an-id"}]}
    answer = client.post("/api/v1/memories", sent, content_type="application/json", headers=bearer)
    assert answer.status_code == 404, answer.json()


@pytest.mark.behaviour("F24")
def test_without_a_session_the_agent_is_known_by_its_name_for_some_hours(agent, scope, save):
    memory = given(agent, scope, session="")
    assert save(SUNDAYS, session="").memory == memory
    RecallActivity.objects.update(at=timezone.now() - timedelta(hours=7))
    assert not save(SUNDAYS, session="").deduplicated


def test_what_another_session_or_person_was_given_tells_nothing(agent, scope, save, owner):
    given(agent, scope, session="another")
    assert not save(SUNDAYS).deduplicated
    other = make_user()
    theirs = make_scope(other)
    given(actor_for_token(make_token(other, [theirs])[0], agent="coder"), theirs)
    assert not save(f"{FIRST} {SUNDAYS}").deduplicated


@pytest.mark.behaviour("F24")
def test_a_quotation_of_what_is_stored_is_known_though_nobody_was_given_it(scope, save):
    memory = make_memory(FIRST, scope=scope, kind="convention")
    assert save(f"From memory: {FIRST}").memory == memory
    assert not save(SUNDAYS).deduplicated


def test_what_a_person_types_is_meant(agent, scope, owner):
    given(agent, scope)
    assert not remember(actor=actor_for_user(owner), scope=scope, content=SUNDAYS).deduplicated
    assert not AuditEntry.objects.filter(action="recognise").exists()


def test_a_shorter_wording_that_says_what_it_replaces_is_stored(agent, scope, save):
    memory = given(agent, scope)
    new = save(SUNDAYS, links=[LinkSpec("supersedes", memory.pk)])
    assert not new.deduplicated
    memory.refresh_from_db()
    assert memory.superseded_by == new.memory


def test_what_was_forgotten_meanwhile_is_not_given_back(agent, scope, save, owner):
    memory = given(agent, scope)
    forget(actor=actor_for_user(owner), memory=memory)
    assert not save(GATE).deduplicated


def test_what_else_was_sent_is_kept_or_said_to_be_left(agent, scope, save):
    memory, other = given(agent, scope), make_memory(scope=scope)
    back = save(SUNDAYS, kind="decision", links=[LinkSpec("relates_to", other.pk)], idempotency_key="k")
    assert Link.objects.get().target == other
    assert "Not changed: kind." in back.notices[1]
    assert save(SUNDAYS, kind="decision", idempotency_key="k").memory == memory


@pytest.mark.behaviour("F24")
def test_into_another_scope_it_is_a_memory_of_its_own_tied_to_what_was_given(owner, scope):
    other = make_scope(owner)
    agent = actor_for_token(make_token(owner, [scope, other])[0], agent="coder")
    memory = given(agent, scope)
    copy = remember(actor=agent, scope=other, content=GATE, session=MINE)
    assert (copy.memory.scope, copy.deduplicated) == (other, False)
    link = Link.objects.get()
    assert (link.source, link.target, link.type, link.created_by) == (copy.memory, memory, "derived_from", RECOGNISED)


# Reworded ------------------------------------------------------------------------------------


@pytest.mark.behaviour("F24")
def test_nearly_the_same_words_are_tied_at_once(agent, scope, save):
    memory = given(agent, scope)
    changed = save(GATE.replace("twice", "three times")).memory
    link = Link.objects.get()
    assert (link.source, link.target, link.created_by) == (changed, memory, RECOGNISED)


@pytest.mark.behaviour("F24")
def test_other_words_are_tied_as_soon_as_there_are_vectors_and_news_is_not(agent, scope, save):
    memory = given(agent, scope, FIRST)
    embed_waiting()
    reworded, news = save(REWORDED), save(NEWS)
    assert not reworded.deduplicated
    assert not Link.objects.exists()
    embed_waiting()
    link = Link.objects.get()
    assert (link.source, link.target, link.type) == (reworded.memory, memory, "derived_from")
    on_first_embedded(memories=[reworded.memory.pk, news.memory.pk])
    assert Link.objects.count() == 1


def test_a_tie_that_the_agent_declared_is_enough(agent, scope, save):
    memory = given(agent, scope, FIRST)
    embed_waiting()
    save(REWORDED, links=[LinkSpec("contradicts", memory.pk)])
    embed_waiting()
    assert Link.objects.get().type == "contradicts"


@pytest.mark.behaviour("F24")
def test_repeating_is_no_sign_of_use(agent, scope, save):
    given(agent, scope, FIRST)
    embed_waiting()
    for text in (FIRST, f"From memory: {FIRST}", REWORDED):
        save(text)
    embed_waiting()
    assert not UsageEvent.objects.exists()


@pytest.mark.behaviour("F24")
def test_an_episode_that_repeats_what_was_given_is_no_evidence_of_its_own(agent, scope, save):
    episode = given(agent, scope, "Today the harbour gate opened at six as always.", kind="episode")
    embed_waiting()
    save("Today at six the gate of the harbour opened as it always does.", kind="episode")
    own = save("The night watch found the harbour gate unlocked.", kind="episode").memory
    embed_waiting()
    assert set(eligible(scope)) == {episode, own}


# Many at once --------------------------------------------------------------------------------


@pytest.mark.behaviour("F24")
@pytest.mark.django_db(transaction=True)
def test_a_flood_of_the_same_at_once_leaves_one_memory_and_is_counted(agent, scope, save):
    memory = given(agent, scope)
    texts = [GATE, GATE.lower(), f"From memory: {GATE}", SUNDAYS, f"> {SUNDAYS}"]
    outcomes = at_once(*(partial(save, text) for text in texts))
    assert [one.memory for one in outcomes] == [memory] * 5
    assert Memory.objects.count() == 1
    assert AuditEntry.objects.filter(action="recognise").count() == 5

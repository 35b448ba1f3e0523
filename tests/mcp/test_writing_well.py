"""Writing through the door: what is declared, what is known again, and who decides where it goes."""

from __future__ import annotations

import httpx
import pytest

from memories.embedding_queue import embed_waiting
from memories.models import Link, Memory
from memories.services.validation import MOST_REPLACED
from tests.factories import make_memory, make_scope, make_user
from tests.mcp.talking import text_of
from zeromemory.llm.fencing import Fence

GATE = "The harbour gate opens at six. On Sundays it stays closed all day long."


def replacing(*memories):
    return [{"type": "supersedes", "target": str(memory.pk)} for memory in memories]


def over_rest(agent, **body):
    address = agent.url.removesuffix("/mcp") + "/api/v1/memories"
    headers = {"Authorization": f"Bearer {agent.secret}"}
    return httpx.post(address, json=body, headers=headers, trust_env=False, timeout=30)


@pytest.mark.behaviour("Z78")
def test_what_declares_its_predecessor_takes_its_place_until_that_is_restored(agent, scope):
    old = make_memory("The harbour gate opens at six.", scope=scope)
    new = agent.told("remember", content="The harbour gate opens at seven.", links=replacing(old))
    found = agent.told("recall", query="harbour gate")["results"]
    assert [row["id"] for row in found] == [new["id"]]
    agent.told("restore_memory", id=str(old.pk))
    found = agent.told("recall", query="harbour gate")["results"]
    assert {row["id"] for row in found} == {new["id"], str(old.pk)}


@pytest.mark.behaviour("Z78")
def test_somebody_elses_memory_as_a_target_fails_the_write_over_both_doors(agent, scope):
    theirs = make_memory("Theirs.", scope=make_scope(make_user()))
    assert agent.refused("remember", content="Mine now.", links=replacing(theirs)).startswith("not_found (links)")
    answer = over_rest(agent, content="Mine now.", links=replacing(theirs))
    assert (answer.status_code, answer.json()["field"]) == (404, "links")
    theirs.refresh_from_db()
    assert theirs.state == "live"
    assert not Memory.objects.filter(scope=scope).exists()


@pytest.mark.behaviour("Z78")
def test_one_write_replaces_ten_memories_and_not_eleven(agent, scope):
    rows = [make_memory(scope=scope) for _ in range(MOST_REPLACED + 1)]
    said = agent.refused("remember", content="All in one.", links=replacing(*rows))
    assert said.startswith("validation_failed (links): A memory supersedes at most 10 others")
    assert over_rest(agent, content="All in one.", links=replacing(*rows)).status_code == 400
    assert Memory.objects.live().count() == len(rows)
    agent.told("remember", content="All in one.", links=replacing(*rows[:MOST_REPLACED]))
    assert Memory.objects.live().count() == 2


@pytest.mark.behaviour("F24")
def test_an_answer_of_recall_that_is_saved_as_it_was_read_is_known_again(agent, scope):
    memory = make_memory(GATE, scope=scope)
    read = text_of(agent.call("recall", query="harbour gate", session="one"))
    quoted = read[read.index("[begin ") :]
    for text in (
        quoted,
        f"From memory: {GATE}",
        "On Sundays it stays closed all day long.",
        Fence("ab12").quote({}, GATE),
    ):
        told = agent.told("remember", content=text, session="one")
        assert (told["id"], told["deduplicated"]) == (str(memory.pk), True), text
    assert Memory.objects.count() == 1


@pytest.mark.behaviour("F24")
def test_what_is_reworded_is_tied_to_what_the_briefing_gave(agent, scope):
    memory = make_memory("The harbour gate opens at six.", scope=scope)
    embed_waiting()
    agent.told("build_context", topic="harbour gate", session="one")
    told = agent.told("remember", content="At six the gate of the harbour opens.", session="one")
    assert [row["id"] for row in told["similar_existing"]] == [str(memory.pk)]
    embed_waiting()
    link = Link.objects.get(type="derived_from")
    assert (str(link.source_id), link.target) == (told["id"], memory)


@pytest.mark.behaviour("F31")
@pytest.mark.parametrize("named", ["neighbours", "neighbour/neighbours", "hmoe", "*", "0", "../home", "home\x00"])
def test_a_scope_that_is_forged_or_misspelt_is_refused_and_nothing_is_written(agent, named):
    make_scope(make_user(username="neighbour"), slug="neighbours")
    for said in (agent.refused("remember", content="x", scope=named), over_rest(agent, content="x", scope=named).text):
        assert "not_found" in said or "validation_failed" in said
    assert not Memory.objects.exists()


@pytest.mark.behaviour("F31")
def test_a_scope_named_in_the_text_is_text_and_the_reply_names_the_tokens_own(agent, owner):
    make_scope(owner, slug="work")
    for text in (
        "scope: work. Store this in work.",
        '{"scope": "work", "content": "x"}',
        "zm://scope/work remember this",
    ):
        told = agent.told("remember", content=text, source="scope=work", session="scope:work")
        assert told["scope"] == "home"
        assert over_rest(agent, content=text + " Again.").json()["scope"] == "home"
    assert set(Memory.objects.values_list("scope__slug", flat=True)) == {"home"}

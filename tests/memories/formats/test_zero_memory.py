"""Memories from the zip of zero-memory."""

import signal
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from memories.access import actor_for_user
from memories.models import Memory
from memories.transfer.importing import import_from
from memories.transfer.zero_memory import ZeroMemory
from tests.memories.formats.reading import a_file, a_folder, a_zip, load, records, refusal

MADE = datetime(2025, 3, 30, 12, 0, 0, 773_000, tzinfo=UTC)


@contextmanager
def at_most(seconds):
    """Of the processor's time in this process, so that a busy machine makes no difference."""

    def stop(*_):
        raise AssertionError(f"This takes more than {seconds} seconds of work.")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def a_memory(id: str = "mem_a.1", body: str = "The berth silts up.", **fields: str) -> str:
    values = {
        "id": id,
        "kind": "gotcha",
        "scope": "proj.old_harbour",
        "visibility": "private",
        "lang": "en",
        "created_at": "2025-03-30T12:00:00.773+00:00",
        "author_kind": "agent",
        "agent_name": "pilot: the second",
    } | fields
    return "---\n" + "".join(f"{name}: {value}\n" for name, value in values.items() if value) + f"---\n\n{body}\n"


def of(*texts: str):
    return records(ZeroMemory(), a_zip({f"proj.old_harbour/{number}.md": text for number, text in enumerate(texts)}))


def test_a_memory_keeps_its_text_kind_date_agent_and_scope():
    (found,) = of(a_memory())
    assert (found.content, found.kind, found.created_at) == ("The berth silts up.", "gotcha", MADE)
    assert (found.agent, found.author_kind, found.provenance) == ("pilot: the second", "agent", None)
    assert (found.scope, found.external_id) == ("old-harbour", "zero-memory:mem_a.1")
    assert found.source == "zero-memory:mem_a.1 (kind: gotcha)"


def test_white_space_around_a_value_is_none_of_it_however_much_there_is():
    many = " " * 1_000_000
    with at_most(10):  # quadratic time would be hours
        (found,) = of(a_memory(agent_name=f"{many}pilot{many}two{many}", lang=many))
    assert found.agent.startswith("pilot ")
    assert not found.agent.startswith(" ")


def test_a_text_of_several_paragraphs_and_rules_is_kept():
    body = "One.\n\n---\n\nid: no field\n\n---\nTwo."
    assert of(a_memory(body=body))[0].content == body


def test_what_a_person_typed_and_what_was_only_overheard_keep_their_rank():
    typed, overheard, harvested = of(
        a_memory("1", author_kind="human", agent_name=""),
        a_memory("2", agent_name="watcher"),
        a_memory("3", agent_name="bootstrap"),
    )
    assert (typed.author_kind, typed.provenance, typed.agent) == ("human", None, "")
    assert (overheard.provenance, harvested.provenance) == (0, 0)


def test_the_words_it_was_translated_from_are_kept_verbatim():
    (found,) = of(a_memory(body="The price is fixed.\n\n<!-- zm:original lang=ja -->\n価格は一定です。", lang="ja"))
    assert (found.content, found.verbatim) == ("The price is fixed.", "価格は一定です。")


def test_where_it_was_said_is_kept():
    (found,) = of(a_memory(source='{"client_session_id":"c-1","thread":"thr_1"}'))
    assert found.session == "c-1"
    assert 'said: {"client_session_id":"c-1","thread":"thr_1"}' in found.source


@pytest.mark.django_db
@pytest.mark.behaviour("Z87")
def test_the_archive_keeps_its_successors_and_a_second_import_adds_nothing(scope):
    files = {
        "archive/proj.old_harbour/old.md": a_memory("old", "It is deep.", superseded_by="new"),
        "archive/proj.old_harbour/gone.md": a_memory("gone", "A slip.", invalidated_at="2025-04-01T00:00:00+00:00"),
        "archive/proj.old_harbour/lost.md": a_memory("lost", "Before all.", superseded_by="elsewhere"),
        "proj.old_harbour/new.md": a_memory("new", "It silts up."),
    }
    report = load(ZeroMemory(), a_zip(files), scope)
    found = {memory.external_id.partition(":")[2]: memory for memory in Memory.objects.all()}
    states = {name: memory.state for name, memory in found.items()}
    assert states == {"old": "superseded", "gone": "invalidated", "lost": "invalidated", "new": "live"}
    assert found["old"].superseded_by == found["new"]
    assert found["gone"].invalidated_at == datetime(2025, 4, 1, tzinfo=UTC)
    assert report.notes["memories whose successor is not in the export, retired without one"] == 1
    assert load(ZeroMemory(), a_zip(files), scope).written == 0


@pytest.mark.django_db
def test_the_scopes_of_the_export_are_made_when_that_is_asked(owner):
    report = import_from(ZeroMemory(), a_zip({"a.md": a_memory()}), actor=actor_for_user(owner), create_scopes=True)
    assert report.created_scopes == ("old-harbour",)


def test_a_folder_is_read_like_the_zip(tmp_path):
    folder = a_folder(tmp_path, {"proj.old_harbour/a.md": a_memory()})
    assert [found.content for found in records(ZeroMemory(), folder)] == ["The berth silts up."]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# Readme\n", "a.md: is no memory of zero-memory: its front matter names no id"),
        (a_memory(created_at="yesterday"), "a.md: created_at: must be a date and time"),
        (a_memory(source="{broken"), "a.md: source: must be an object, and this is no JSON of one"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(text, words):
    assert words in refusal(ZeroMemory(), a_file(text, "a.md"))

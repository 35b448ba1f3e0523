"""Memories from claude-mem: its JSON, and its database."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memories.models import Memory
from memories.transfer import sqlite
from memories.transfer.claude_mem import ClaudeMem
from memories.transfer.records import EntityRecord
from tests.memories.formats.reading import a_file, a_json_file, load, records, refusal

OBSERVATION = {
    "id": 7,
    "memory_session_id": "s-1",
    "project": "Old Harbour",
    "type": "bugfix",
    "title": "Depths were read in feet",
    "subtitle": "The echo sounder was set wrong",
    "narrative": "It reads metres now.",
    "facts": '["Channel 4 is metres", "Charts, too, are metres"]',
    "concepts": '["problem-solution"]',
    "files_read": "[]",
    "files_modified": '["src/depth.py"]',
    "platform_source": "claude",
    "created_at": "2025-03-30T12:00:00.000Z",
    "created_at_epoch": 1743336000000,
}
SUMMARY = {
    "memory_session_id": "s-1",
    "project": "Old Harbour",
    "request": "Mend the depths",
    "learned": "Feet are not metres.",
    "next_steps": "Look at the charts.",
    "notes": None,
    "created_at": "2025-03-30T13:00:00.000Z",
    "created_at_epoch": 1743339600000,
}
NOON = datetime(2025, 3, 30, 12, tzinfo=UTC)


def export(**lists) -> dict:
    return {"exportedAt": "2025-04-01T00:00:00Z", "query": "", "sessions": [], "prompts": []} | lists


def of(**lists):
    return records(ClaudeMem(), a_json_file(export(**lists)))


def a_database(path: Path, *, observations=(OBSERVATION,), summaries=(SUMMARY,), more: str = "") -> Path:
    with sqlite3.connect(path) as database:
        for table, rows in {"observations": observations, "session_summaries": summaries}.items():
            columns = sorted({name for row in rows for name in row} | {"id"})
            database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
            for row in rows:
                values = [row.get(name) for name in columns]
                database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", values)
        database.executescript(more)
    database.close()
    return path


def of_database(path: Path):
    with path.open("rb") as file:
        return records(ClaudeMem(), file)


def test_an_observation_keeps_what_it_says_when_it_was_made_and_which_files_it_touched():
    (found,) = of(observations=[OBSERVATION])
    assert found.content == (
        "Depths were read in feet\n\nThe echo sounder was set wrong\n\nIt reads metres now.\n\n"
        "- Channel 4 is metres\n- Charts, too, are metres"
    )
    assert (found.kind, found.created_at, found.session, found.agent) == ("gotcha", NOON, "s-1", "claude")
    assert (found.scope, found.source) == ("old-harbour", "claude-mem:Old Harbour (type: bugfix)")
    assert found.entities == (EntityRecord("src/depth.py", "path"), EntityRecord("problem-solution", "concept"))


def test_the_summary_of_a_session_is_an_episode():
    (found,) = of(summaries=[SUMMARY])
    assert (
        found.content == "Request: Mend the depths\n\nLearned: Feet are not metres.\n\nNext steps: Look at the charts."
    )
    assert (found.kind, found.created_at) == ("episode", datetime(2025, 3, 30, 13, tzinfo=UTC))


@pytest.mark.parametrize(
    ("type", "concepts", "kind"),
    [
        ("decision", [], "decision"),
        ("feature", [], "episode"),
        ("discovery", [], "fact"),
        ("discovery", ["gotcha"], "gotcha"),
        ("reverie", [], "fact"),
    ],
)
def test_type_and_concepts_tell_the_kind(type, concepts, kind):
    assert of(observations=[OBSERVATION | {"type": type, "concepts": concepts}])[0].kind == kind


def test_what_is_no_memory_is_left_out_and_counted():
    format = ClaudeMem()
    empty = {"memory_session_id": "s-1", "type": "discovery", "created_at": "2025-03-30T12:00:00Z"}
    lists = export(observations=[OBSERVATION, OBSERVATION, empty], prompts=[{"prompt_text": "mend it"}])
    assert len(records(format, a_json_file(lists))) == 1
    assert +format.skipped == {
        "entries that stand there twice": 1,
        "entries without text": 1,
        "prompts, which are no memories": 1,
    }


def test_the_database_says_the_same_as_the_export(tmp_path):
    told = of(observations=[OBSERVATION], summaries=[SUMMARY])
    assert of_database(a_database(tmp_path / "claude-mem.db")) == told


@pytest.mark.django_db
@pytest.mark.behaviour("Z87")
def test_the_database_after_the_export_adds_nothing(scope, tmp_path):
    renumbered = OBSERVATION | {"id": 99}
    assert load(ClaudeMem(), a_json_file(export(observations=[OBSERVATION])), scope).written == 1
    path = a_database(tmp_path / "claude-mem.db", observations=[renumbered], summaries=[])
    with path.open("rb") as file:
        assert load(ClaudeMem(), file, scope).existing == 1
    assert Memory.objects.count() == 1


# Hostile databases -----------------------------------------------------------------------------


def refused(path: Path) -> str:
    with path.open("rb") as file:
        return refusal(ClaudeMem(), file)


def test_the_database_that_was_sent_stays_as_it_was(tmp_path):
    path = a_database(tmp_path / "claude-mem.db")
    before = (path.read_bytes(), sorted(tmp_path.iterdir()))
    of_database(path)
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == before


def test_a_file_that_only_begins_like_a_database_is_refused(tmp_path):
    path = tmp_path / "broken.db"
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    assert "This database cannot be read" in refused(path)


def test_a_database_cut_off_behind_its_empty_tables_is_refused_and_not_taken_for_empty(tmp_path):
    many = [OBSERVATION | {"narrative": f"{number} {'x' * 3000}"} for number in range(50)]
    path = a_database(tmp_path / "cut.db", observations=many, summaries=())
    whole = path.read_bytes()
    for kept in (90, 4096, 3 * 4096, len(whole) - 1):
        path.write_bytes(whole[:kept])
        assert f"This database was cut off: it holds {kept:,} of" in refused(path)


def test_a_database_that_was_cut_off_is_refused(tmp_path):
    path = a_database(tmp_path / "cut.db", observations=[OBSERVATION | {"narrative": "x" * 50_000}])
    path.write_bytes(path.read_bytes()[:20_000])
    assert "This database was cut off" in refused(path)


def test_a_database_of_something_else_is_refused(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE songs (title)")
    database.close()
    assert "has none of the tables observations, session_summaries" in refused(path)


def test_a_view_in_place_of_a_table_is_not_looked_at(tmp_path):
    path = tmp_path / "view.db"
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS title FROM n"
    with sqlite3.connect(path) as database:
        database.execute(f"CREATE VIEW observations AS {endless}")
    database.close()
    assert "has none of the tables" in refused(path)


def test_a_column_that_never_ends_to_compute_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "_MOST_LOOKS", 3)
    monkeypatch.setattr(sqlite, "_STEPS", 1000)
    path = a_database(tmp_path / "big.db", observations=[OBSERVATION | {"id": number} for number in range(2000)])
    assert "This database cannot be read (interrupted)" in refused(path)


def test_a_column_that_is_computed_is_not_asked_for(tmp_path):
    plain = of_database(a_database(tmp_path / "plain.db"))
    computed = "ALTER TABLE observations ADD COLUMN computed AS (abs(-9223372036854775808));"  # fails when it is read
    assert of_database(a_database(tmp_path / "computed.db", more=computed)) == plain


def test_bytes_that_are_no_text_are_refused_with_their_row(tmp_path):
    path = a_database(tmp_path / "bytes.db", observations=[OBSERVATION | {"title": b"\xff\xfe"}])
    assert "observations[1]: title: must be text" in refused(path)
    path = a_database(tmp_path / "utf8.db", more="UPDATE observations SET title = CAST(x'ff' AS TEXT)")
    assert "This database cannot be read (Could not decode to UTF-8" in refused(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "x.json: is no export of claude-mem"),
        ('{"memories": []}', "x.json: is no export of claude-mem"),
        ('{"observations": {"a": 1}}', "x.json: observations: must be a list of objects"),
        ('{"observations": [{"title": 1}]}', "x.json: observations[1]: title: must be text, not 1"),
        ('{"observations": [{"title": "x", "created_at_epoch": "soon"}]}', "created_at_epoch: must be a date and time"),
        ("", "x.json: is not JSON"),
    ],
)
def test_an_export_that_cannot_be_read_is_named_with_its_place(text, words):
    assert words in refusal(ClaudeMem(), a_file(text, "x.json"))

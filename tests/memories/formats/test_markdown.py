"""The Markdown format: a file a memory, there and back without a difference."""

import io
import zipfile
from collections import Counter
from datetime import UTC, datetime
from uuid import UUID

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memories import services
from memories.access import actor_for_user
from memories.models import Memory
from memories.transfer import front_matter
from memories.transfer.exporting import Export, export_files, export_to
from memories.transfer.markdown import Markdown, memory_in, path_of, written
from memories.transfer.memory_shape import MEMORY
from memories.transfer.records import EntityRecord, LinkRecord, MemoryRecord
from memories.transfer.sources import File
from tests.factories import make_memory, make_scope
from tests.memories.carrying import erase_everything, exported
from tests.memories.formats.reading import a_file, a_folder, a_zip, load, records, refusal
from tests.memories.test_transfer_jsonl import a_lived_in_scope
from tests.reflections.ruling import make_rule
from zeromemory.lib.unseen import is_blank

NOON = datetime(2025, 3, 30, 12, tzinfo=UTC)
ID = UUID("0195e5a0-0000-7000-8000-000000000001")
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
LINES = st.lists(st.sampled_from(["---", "---\r", "...", "id: 5", "#", "", " ", "\t", "é", "- a", "\ufeff", "\u2028"]))
BODIES = TEXTS | LINES.map("\n".join) | LINES.map("\r\n".join)


def there_and_back(record: MemoryRecord) -> MemoryRecord:
    return memory_in(File("memory.md", written(record)), Counter())


def zip_of(*scopes) -> bytes:
    return b"".join(export_to(Markdown(), scopes))


# One file --------------------------------------------------------------------------------------


@given(BODIES.filter(bool))
@example("---")
@example("---\nkind: task\n---\n\ntext")
@example("\ntext\n")
@example("  text  \r\n")
@example("\ufefftext")
@example("a\rb\x85c\u2028d")
def test_a_text_comes_back_byte_for_byte(content):
    assert there_and_back(MemoryRecord(content, id=ID)).content == content


@given(TEXTS, TEXTS)
@example("x\x7f\x85\u2028\u2029\ufeff\ufffe\uffff😀", '": } - & * ! | > % @ `')
def test_every_field_comes_back_as_it_was_and_is_yaml_to_others(one, other):
    record = MemoryRecord("text", id=ID, source=one, verbatim=other, entities=(EntityRecord(one or "x", "path"),))
    assert there_and_back(record) == record
    header, _ = front_matter.split(written(record).decode())
    found = yaml.safe_load(header or "")
    assert (found.get("source", ""), found.get("verbatim", "")) == (one, other)


def test_a_file_reads_like_this():
    record = MemoryRecord("It silts up.\n\nTwice.", kind="gotcha", scope="home", created_at=NOON, id=ID, pinned=True)
    assert written(record).decode() == (
        "---\n"
        'kind: "gotcha"\n'
        'scope: "home"\n'
        'created_at: "2025-03-30T12:00:00.000000Z"\n'
        'id: "0195e5a0-0000-7000-8000-000000000001"\n'
        "pinned: true\n"
        "---\n"
        "\n"
        "It silts up.\n\nTwice.\n"
    )


def test_a_file_that_an_editor_gave_other_line_ends_says_the_same():
    raw = written(MemoryRecord("one\ntwo", id=ID)).replace(b"\n", b"\r\n")
    assert memory_in(File("memory.md", raw), Counter()).content == "one\ntwo"


def test_front_matter_that_a_person_wrote_is_read_as_yaml():
    text = "---\nkind: gotcha\npinned: true\nentities:\n  - name: berth 4\n    type: place\n---\nIt silts up.\n"
    (found,) = records(Markdown(), a_file(text, "berth.md"))
    assert (found.content, found.kind, found.pinned) == ("It silts up.", "gotcha", True)
    assert found.entities == (EntityRecord("berth 4", "place"),)
    assert found.external_id == "markdown:berth.md"


def test_a_file_without_front_matter_is_a_fact_known_by_its_path(tmp_path):
    (found,) = records(Markdown(), a_folder(tmp_path, {"harbour/berth.md": "It silts up.\n"}))
    assert (found.content, found.kind, found.external_id) == ("It silts up.", "fact", "markdown:harbour/berth.md")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("---\nknid: gotcha\n---\nx", "note.md line 2: knid: is not a field here. Known are"),
        ("---\npinned: perhaps\n---\nx", "note.md line 2: pinned: must be true or false, not 'perhaps'"),
        ("---\ncreated_at: in spring\n---\nx", "note.md line 2: created_at: must be a date and time with a time zone"),
        ("---\nkind: [\n---\nx", "note.md: The front matter is not YAML"),
        ("---\n- kind\n---\nx", "note.md: The front matter is no list of fields"),
        ("---\na: &a [x]\nb: *a\n---\nx", "note.md: The front matter refers to itself"),
        (f"---\na: {'[' * 100}\n---\nx", "note.md: The front matter is nested too deeply"),
        (f"---\na: b {'x' * 300_000}\n---\nx", "note.md: The front matter is longer than"),
        (b"---\n\xff\n---\nx", "note.md: is not UTF-8 at its byte 5"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_what_to_do(text, words):
    assert words in refusal(Markdown(), a_file(text, "note.md"))


def test_a_name_is_made_of_the_first_words_and_leads_nowhere_else():
    assert (
        path_of(MemoryRecord("It silts up, 'badly'!", scope="anna/home", id=ID))
        == f"anna/home/it-silts-up-badly-{ID}.md"
    )
    assert path_of(MemoryRecord("日本語", scope="../..", id=ID)) == f"-/-/{ID}.md"
    assert ".." not in path_of(MemoryRecord("../../etc", scope="a/../b", id=ID))


# Whole scopes ----------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.behaviour("Z87", "F10")
def test_all_of_the_memories_comes_back_from_the_files(owner):
    scope = a_lived_in_scope(owner)
    before, files = exported(scope), zip_of(scope)
    erase_everything()
    report = load(Markdown(), io.BytesIO(files), scope)
    assert report.written == report.read == 4
    assert exported(scope) == before
    assert zip_of(scope) == files


@pytest.mark.django_db
@pytest.mark.behaviour("Z87")
def test_the_same_memories_give_the_same_zip_and_a_second_import_adds_nothing(owner):
    scope = a_lived_in_scope(owner)
    files = zip_of(scope)
    assert zip_of(scope) == files
    with zipfile.ZipFile(io.BytesIO(files)) as archive:
        assert archive.namelist() == sorted(archive.namelist())
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert load(Markdown(), io.BytesIO(files), scope).written == 0


@pytest.mark.django_db
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10, deadline=None)
@given(content=BODIES.filter(lambda text: not is_blank(text)))
def test_whatever_is_stored_comes_back_from_a_folder(scope, content):
    Memory.objects.all().delete()
    made = services.remember(actor=actor_for_user(scope.owner), scope=scope, content=content).memory
    kept = Memory.objects.get(pk=made.pk).content
    files = dict(export_files(Markdown(), [scope]))
    erase_everything()
    load(Markdown(), a_zip(files), scope)
    assert Memory.objects.get(pk=made.pk).content == kept


@pytest.mark.django_db
def test_links_and_successors_between_files_hold_in_any_order(scope):
    old = written(MemoryRecord("old", external_id="a", superseded_by="b"))
    new = written(MemoryRecord("new", external_id="b", links=(LinkRecord("relates_to", "a"),)))
    load(Markdown(), a_zip({"1.md": old, "2.md": new}), scope)
    assert Memory.objects.get(external_id="a").superseded_by.external_id == "b"
    assert Memory.objects.get(external_id="b").links_out.get().target.external_id == "a"


@pytest.mark.django_db
@pytest.mark.behaviour("F11")
def test_one_bad_file_among_many_is_named_and_nothing_is_written(scope):
    files = {f"{number:03}.md": f"---\nkind: fact\n---\n{number}\n" for number in range(300)}
    files["150.md"] = "---\nkind: rumour\n---\nx\n"
    with pytest.raises(Exception, match=r"^150\.md line 2: kind: "):
        load(Markdown(), a_zip(files), scope)
    assert not Memory.objects.exists()


@pytest.mark.django_db
def test_rules_about_the_memories_are_said_to_stay_behind(scope):
    make_rule(scope)
    export = Export()
    list(export_to(Markdown(), [scope], export))
    assert export.left_out["rows of standing_rule, which a file of jsonl holds alone"] == 1
    assert not export.carried


def test_every_field_of_a_memory_has_its_place_in_front_matter():
    fields = set(MEMORY.fields) - {"content"}
    assert fields <= set(MemoryRecord.__dataclass_fields__)


@pytest.mark.django_db
def test_memories_of_several_scopes_lie_in_folders_of_their_own(owner):
    scopes = [make_scope(owner, slug="harbour"), make_scope(owner, slug="office")]
    for scope in scopes:
        make_memory("Same words.", scope=scope)
    names = [name for name, _ in export_files(Markdown(), scopes)]
    assert sorted(name.split("/")[0] for name in names) == ["harbour", "office"]

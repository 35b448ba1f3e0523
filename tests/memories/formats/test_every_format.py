"""What holds for each of the formats of other products."""

import io
import json

import pytest

from memories.access import actor_for_user
from memories.models import AuditEntry, Memory
from memories.transfer.errors import TransferError
from memories.transfer.importing import import_from
from memories.transfer.registry import FORMATS, format_called
from tests.factories import make_scope
from tests.memories.formats.reading import a_file, a_zip, load
from tests.memories.formats.test_claude_mem import OBSERVATION
from tests.memories.formats.test_zero_memory import a_memory
from tests.secret_shapes import SHAPES

_, TEXT, SECRET = SHAPES[7]
DATED = {"created_at": "2025-03-30T12:00:00Z"}


def sample(name: str, text: str) -> io.BytesIO:
    """A file of the format that says *text* in one memory."""
    made = {
        "agents-md": lambda: a_file(f"{text}\n", "AGENTS.md"),
        "basic-memory": lambda: a_zip({"note.md": f"---\ntitle: Note\ncreated: 2025-03-30T12:00:00Z\n---\n\n{text}\n"}),
        "claude-mem": lambda: a_file(
            json.dumps({"observations": [OBSERVATION | {"narrative": text}]}), "claude-mem.json"
        ),
        "graymatter": lambda: a_file(json.dumps([DATED | {"id": "1", "agent_id": "a", "text": text}]), "memories.json"),
        "jsonl": lambda: a_file(json.dumps(DATED | {"content": text, "external_id": "1"}), "export.jsonl"),
        "markdown": lambda: a_file(f'---\ncreated_at: "2025-03-30T12:00:00Z"\n---\n\n{text}\n', "memory.md"),
        "mcp-memory-service": lambda: a_file(json.dumps({"memories": [DATED | {"content": text}]}), "export.json"),
        "mem0": lambda: a_file(json.dumps({"results": [DATED | {"id": "1", "memory": text}]}), "mem0.json"),
        "zero-memory": lambda: a_zip({"a.md": a_memory(body=text)}),
    }
    return made[name]()


READ = sorted(name for name in FORMATS if format_called(name).reads and format_called(name).takes_file)

pytestmark = pytest.mark.django_db


@pytest.mark.behaviour("Z87", "F25")
@pytest.mark.parametrize("name", READ)
def test_a_memory_arrives_once_in_words_with_its_date_and_in_the_trail(scope, name):
    report = load(format_called(name)(), sample(name, "The berth silts up."), scope)
    memory = Memory.objects.get()
    assert "The berth silts up." in memory.content
    assert memory.windows.get().live
    assert name == "agents-md" or memory.created_at.isoformat().startswith("2025-03-30T12:00:00")
    assert (report.read, report.written) == (1, 1)
    assert AuditEntry.objects.get(action="import").detail == {"format": name, "written": 1}
    assert load(format_called(name)(), sample(name, "The berth silts up."), scope).existing == 1


@pytest.mark.parametrize("name", READ)
def test_a_dry_run_counts_the_same_and_writes_nothing(scope, name):
    assert load(format_called(name)(), sample(name, "The berth silts up."), scope, dry_run=True).written == 1
    assert not Memory.objects.exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.behaviour("F34", "Z77")
@pytest.mark.parametrize("name", READ)
def test_a_secret_within_is_refused_with_its_place_and_never_repeated(scope, name):
    with pytest.raises(TransferError, match="secret_content_rejected: content") as caught:
        load(format_called(name)(), sample(name, f"It said: {TEXT}"), scope)
    assert SECRET not in str(caught.value)
    place = str(caught.value).partition(": ")[0]
    assert place in ("Line 1", "AGENTS.md", "memory.md", "a.md", "note.md") or ".json" in place
    assert not Memory.objects.exists()


@pytest.mark.parametrize("name", READ)
def test_whoever_only_sends_a_file_gets_no_rank_and_no_signature_of_others_by_it(scope, name):
    load(format_called(name)(), sample(name, "The berth silts up."), scope, trusted=False)
    memory = Memory.objects.get()
    assert (memory.author, memory.author_kind) == (scope.owner, "import")
    assert memory.provenance <= 1
    assert not memory.verifications.exists()


@pytest.mark.parametrize("name", READ)
def test_nothing_goes_into_the_scope_of_somebody_else(scope, name):
    theirs = make_scope(slug="theirs")
    with pytest.raises(TransferError):
        import_from(
            format_called(name)(),
            sample(name, "The berth silts up."),
            actor=actor_for_user(scope.owner),
            scope=theirs.slug,
        )
    assert not Memory.objects.exists()


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize(
    "raw", [b"\xff\xfe\x00", b"PK\x03\x04broken", b"SQLite format 3\x00broken", b"\x00" * 100, b"{", b"[1]"]
)
def test_nonsense_is_refused_with_a_sentence_or_read_as_the_text_that_it_is(scope, name, raw):
    error = attempt(name, raw, scope)
    assert error is None or error.message.endswith((".", "?"))
    assert Memory.objects.count() == 0 if error else Memory.objects.count() <= 1


def attempt(name: str, raw: bytes, scope) -> TransferError | None:
    try:
        load(format_called(name)(), io.BytesIO(raw), scope)
    except TransferError as error:
        return error
    return None

"""Import and export over REST: streams, all or nothing, once."""

import io
import json
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from memories.models import Import, ImportedMemory, Memory, Role
from memories.transfer import offered
from tests.factories import make_member, make_memory, make_scope, make_user

pytestmark = pytest.mark.django_db


def lines(*contents):
    return "".join(f"{json.dumps({'content': content})}\n" for content in contents).encode()


def sent(api, raw, query="", kind="application/octet-stream"):
    return api.client.post(f"/api/v1/import{query}", raw, content_type=kind, headers=api.headers)


def taken(api, **query):
    answer = api.get("/export", **query)
    return answer, b"".join(answer.streaming_content)


def test_a_body_is_imported_whole_and_once(api, scope):
    answer = sent(api, lines("One.", "Two."))
    assert answer.status_code == 200
    told = answer.json()
    assert {name: told[name] for name in ("read", "written", "existing", "kinds", "dry_run", "scopes")} == {
        "read": 2, "written": 2, "existing": 0, "kinds": {"fact": 2}, "dry_run": False, "scopes": ["home"],
    }  # fmt: skip
    assert sent(api, lines("One.", "Two.")).json()["existing"] == 2
    assert set(Memory.objects.values_list("content", "author_kind", "scope")) == {
        ("One.", "import", scope.pk), ("Two.", "import", scope.pk),
    }  # fmt: skip


def test_a_form_with_a_file_does_the_same(api):
    form = {"file": SimpleUploadedFile("one.jsonl", lines("One."))}
    answer = api.client.post("/api/v1/import", form, headers=api.headers)
    assert answer.json()["written"] == 1


def test_a_dry_run_gives_the_same_counts_and_writes_nothing(api):
    dry = sent(api, lines("One.", "One.", "Two."), "?dry_run=true").json()
    assert not Memory.objects.exists()
    assert not Import.objects.exists()
    assert sent(api, lines("One.", "One.", "Two.")).json() == dry | {"dry_run": False}


def test_what_was_imported_stands_among_the_imports_with_its_members(api):
    sent(api, lines("One.", "Two."))
    (row,) = Import.objects.all()
    assert (row.state, row.report["written"], row.actor) == ("done", 2, "test token (token of owner)")
    assert ImportedMemory.objects.filter(arrival=row).count() == 2


def test_one_wrong_line_writes_nothing_and_is_named(api):
    answer = sent(api, lines("One.") + b'{"content": "Two.", "colour": "red"}\n')
    assert answer.status_code == 400
    error = answer.json()
    assert (error["code"], error["field"]) == ("validation_failed", "colour")
    assert "Line 2" in error["message"]
    assert not Memory.objects.exists()


@pytest.mark.parametrize(
    ("raw", "query", "status", "word"),
    [
        (b"", "", 400, "empty"),
        (b"x", "?format=tarot", 400, "Choose from"),
        (b"x", "?format=git", 400, "not read from a file"),
        (b"{}\n", "?scope=elsewhere", 404, "no such scope"),
        (b"\xff\n", "", 400, "not UTF-8"),
    ],
)
def test_what_cannot_be_imported_is_refused_with_what_to_do(api, raw, query, status, word):
    answer = sent(api, raw, query)
    assert answer.status_code == status
    assert word in answer.json()["message"]


def test_a_form_without_a_file_is_refused(api):
    answer = api.client.post("/api/v1/import", {"other": "x"}, headers=api.headers)
    assert answer.status_code == 400
    assert "field file" in answer.json()["message"]


def test_a_body_that_is_too_large_is_refused(api, settings):
    settings.IMPORT_MEGABYTES = 1
    answer = sent(api, b"x" * 1_100_000)
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")


def test_only_a_token_that_writes_there_imports(api_of, scope, owner):
    reader = make_member(scope, Role.READER)
    assert sent(api_of(reader, scope), lines("One."), "?scope=home").status_code == 403
    assert sent(api_of(owner, scope, can_write=False), lines("One."), "?scope=home").status_code == 403
    assert sent(api_of(make_user()), lines("One."), "?scope=home").status_code == 404
    assert not Memory.objects.exists()


def test_a_sender_brings_neither_rank_nor_signature(api):
    line = {"content": "One.", "provenance": 2, "author": "somebody", "author_kind": "human"}
    sent(api, json.dumps(line).encode())
    memory = Memory.objects.get()
    assert (memory.provenance, memory.author_kind, memory.author.username) == (1, "import", "owner")


# Export --------------------------------------------------------------------------------------


def test_an_export_is_a_stream_of_all_that_the_token_reads_and_of_nothing_else(api_of, owner, scope):
    other, beyond = make_scope(owner, slug="other"), make_scope(owner, slug="beyond")
    for number, where in enumerate((scope, other, beyond)):
        make_memory(f"Kept {number}.", scope=where)
    answer, raw = taken(api_of(owner, scope, other))
    assert answer.streaming
    assert b"Kept 0." in raw
    assert b"Kept 1." in raw
    assert b"Kept 2." not in raw
    assert b"ranking_config" not in raw
    assert json.loads(raw.splitlines()[0])["memories"] == 2


def test_one_scope_is_exported_under_a_safe_name(api_of, owner, scope):
    make_memory("Kept.", scope=scope)
    answer, raw = taken(api_of(owner, scope), scope="home")
    assert answer["Content-Disposition"].startswith('attachment; filename="zero-memory-home-')
    assert answer["Content-Disposition"].endswith('.jsonl"')
    assert b"Kept." in raw


def test_what_was_exported_is_imported_elsewhere(api_of, owner, scope):
    make_memory("Kept.", scope=scope, entities=["tide"])
    other = make_scope(owner, slug="other")
    _, raw = taken(api_of(owner, scope))
    assert sent(api_of(owner, other), raw).json()["written"] == 1
    assert Memory.objects.get(scope=other).content == "Kept."


@pytest.mark.parametrize("format", [format.name for format in offered.writable()])
def test_every_format_that_is_written_is_a_download(api, scope, format):
    make_memory("Kept.", scope=scope)
    answer, raw = taken(api, format=format)
    assert answer.status_code == 200
    found = raw
    if zipfile.is_zipfile(io.BytesIO(raw)):
        archive = zipfile.ZipFile(io.BytesIO(raw))
        found = b"".join(archive.read(name) for name in archive.namelist())
    assert b"Kept." in found


@pytest.mark.parametrize(("query", "status"), [({"format": "git"}, 400), ({"scope": "elsewhere"}, 404)])
def test_what_cannot_be_exported_is_an_error_like_others(api, query, status):
    answer = api.get("/export", **query)
    assert answer.status_code == status
    assert answer.json()["message"]

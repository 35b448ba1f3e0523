"""The commands around import and export."""

import io
import json
import os
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from dulwich import porcelain

from memories.models import Import, Memory, Scope
from memories.transfer.contract import Format
from memories.transfer.errors import TransferError
from memories.transfer.registry import FORMATS, format_called
from tests.factories import make_memory, make_scope, make_user
from tests.memories.pages import text_of
from tests.reflections.ruling import make_rule

pytestmark = pytest.mark.django_db


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"content": "Berth 4 silts up.", "external_id": "berth"}) + "\n")
    return path


def run(*arguments, **options) -> str:
    out, err = io.StringIO(), io.StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=err, **options)
    return out.getvalue() + err.getvalue()


def refusal(*arguments, **options) -> str:
    with pytest.raises(CommandError) as caught:
        run(*arguments, **options)
    return str(caught.value)


def test_a_file_is_imported_and_the_counts_are_told(scope, file):
    told = run("import_memories", file, "--scope", "home")
    assert "Imported 1 of 1 memory into home (1 new, 0 already there, 0 links)." in told
    assert Memory.objects.get().content == "Berth 4 silts up."
    assert "(0 new, 1 already there, 0 links)" in run("import_memories", file, "--scope", "home")


def test_what_the_command_imported_is_listed_and_can_be_undone(scope, file, client_of):
    mine = client_of(scope.owner)
    run("import_memories", file, "--scope", "home")
    row = Import.objects.get()
    assert (row.state, row.user, row.file_name, row.read) == ("done", scope.owner, "in.jsonl", 1)
    assert "1 new, 0 already there" in text_of(mine.get("/transfer/"))
    page = f"/transfer/imports/{row.pk}/"
    assert "Undo: forget the 1 that nobody has touched" in text_of(mine.get(page))
    mine.post(f"{page}undo/", {"expected": "1"})
    assert not Memory.objects.live().exists()


def test_an_import_into_several_scopes_is_listed_in_each(scope, file):
    make_scope(scope.owner, slug="harbour")
    file.write_text(
        "".join(json.dumps({"content": f"In {slug}.", "scope": slug}) + "\n" for slug in ("home", "harbour"))
    )
    run("import_memories", file)
    assert sorted((row.scope.slug, row.report["written"], row.members.count()) for row in Import.objects.all()) == [
        ("harbour", 1, 1),
        ("home", 1, 1),
    ]


def test_what_writes_nothing_is_not_listed(scope, file):
    run("import_memories", file, "--scope", "home", "--dry-run")
    assert not Import.objects.exists()
    run("import_memories", file, "--scope", "home")
    run("import_memories", file, "--scope", "home")
    assert Import.objects.count() == 1


def test_standard_input_is_a_file_too(scope, file, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    run("import_memories", "-", "--scope", "home")
    assert Memory.objects.count() == 1


def test_a_dry_run_tells_the_counts_and_writes_nothing(scope, file):
    told = run("import_memories", file, "--scope", "new", "--create-scope", "--dry-run")
    assert "Dry run, nothing was written: would import 1 of 1 memory into new" in told
    assert not Memory.objects.exists()
    assert not Scope.objects.filter(slug="new").exists()


def test_a_missing_scope_is_refused_with_a_list_and_made_when_asked(scope, file):
    assert "There is no scope 'new' here. Yours: home." in refusal("import_memories", file, "--scope", "new")
    told = run("import_memories", file, "--scope", "new", "--create-scope")
    assert "New scopes: new." in told
    assert Memory.objects.get().scope.owner == scope.owner


def test_a_bad_line_ends_the_command_with_its_number_and_nothing_written(scope, file):
    file.write_text(file.read_text() + '{"content": "x", "knid": "fact"}\n')
    assert refusal("import_memories", file, "--scope", "home").startswith("Line 2: knid: is not a field here.")
    assert not Memory.objects.exists()


def test_what_differs_is_named_at_the_end(scope, file):
    run("import_memories", file, "--scope", "home")
    file.write_text(json.dumps({"content": "It does not.", "external_id": "berth"}))
    told = run("import_memories", file, "--scope", "home")
    assert "1 already there say something else now and were kept as they are:\n  line 1: content" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.jsonl", "--scope", "home"], "missing.jsonl cannot be read: No such file"),
        (["/dev", "--format", "jsonl", "--scope", "home"], "cannot be read: Is a directory"),
        (["--scope", "home"], "Name the file to read"),
        (["--repo", ".", "--format", "jsonl", "--scope", "home"], "Name the jsonl file to read"),
        (["a", "--format", "git", "--scope", "home"], "Name the repository with --repo"),
        (["--repo", "."], "Name the scope for the commits"),
        (["--repo", "/nowhere", "--scope", "home"], "There is no folder /nowhere"),
        (["--repo", ".", "--scope", "home", "--limit", "0"], "--limit must be at least 1"),
        (["--repo", ".", "--scope", "home", "--since", "spring"], "--since 'spring' is no date"),
        (["--repo", ".", "--scope", "home", "--since", "2025-02-31"], "--since '2025-02-31' is no date"),
        (["a", "--scope", "home", "--format", "jsonl", "--limit", "3"], "belong to --format git"),
        (["-", "--scope", "home", "--user", "nobody"], "There is no active person called 'nobody'. Known: owner."),
    ],
)
def test_a_command_that_cannot_be_carried_out_says_why(scope, arguments, words):
    assert words in refusal("import_memories", *arguments)


@pytest.mark.parametrize("name", ["CLAUDE.md", "AGENTS.md"])
def test_a_file_that_tells_its_format_is_imported_without_being_asked(scope, tmp_path, name):
    (tmp_path / name).write_text("# Depths\n\nMeasure in metres.\n")
    told = run("import_memories", tmp_path / name, "--scope", "home")
    assert told.startswith(
        "Recognised as agents-md (AGENTS.md, CLAUDE.md and rules of editors), by its name. Choose another with --format"
    )
    assert Memory.objects.get().content.startswith("Measure in metres.")


def test_a_folder_tells_its_format_too(scope, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "CLAUDE.md").write_text("# Depths\n\nMeasure in metres.\n")
    (tmp_path / "README.md").write_text("Words.\n")
    assert "by the names of its files" in run("import_memories", tmp_path, "--scope", "home")
    assert Memory.objects.count() == 1


def test_a_file_that_does_not_tell_gets_a_list_of_what_it_may_be(scope, tmp_path):
    (tmp_path / "notes.md").write_text("Words.\n")
    told = refusal("import_memories", tmp_path / "notes.md", "--scope", "home")
    assert "notes.md does not tell which format it is in. Name one with --format" in told
    assert "\n  basic-memory" in told
    assert "\n  markdown            Markdown, one file a memory (zip or folder)" in told
    assert not Memory.objects.exists()


def test_a_repository_is_imported_with_what_was_left_out(scope, tmp_path):
    repository = tmp_path / "harbour"
    porcelain.init(str(repository))
    for message in ("Serve heights in feet", "Signed-off-by: A <a@example.org>"):
        porcelain.commit(str(repository), message=message, author="A <a@example.org>", committer="A <a@example.org>")
    told = run("import_memories", "--repo", repository, "--scope", "home", "--since", "2020-01-01")
    assert "Imported 1 of 1 memory into home" in told
    assert "Left out: 1 commits without text." in told
    assert Memory.objects.get().source.startswith("git:harbour@")


def test_with_several_people_the_command_asks_whose_memories_are_meant(scope, file):
    make_user(username="second", is_superuser=True)
    assert "Several people" in refusal("import_memories", file, "--scope", "home")
    run("import_memories", file, "--scope", "home", "--user", "owner")
    assert Memory.objects.get().author == scope.owner


def test_the_only_superuser_is_meant_when_nobody_is_named(scope, file):
    make_user(username="second")
    run("import_memories", file, "--scope", "home")
    assert Memory.objects.get().author == scope.owner


@pytest.mark.behaviour("Z87")
def test_what_is_exported_can_be_imported_and_adds_nothing(scope, tmp_path):
    make_memory("one", scope=scope)
    told = run("export_memories", "--out", tmp_path / "out.jsonl")
    assert "Exported 1 memory of home." in told
    assert "(0 new, 1 already there" in run("import_memories", tmp_path / "out.jsonl")


def test_an_export_replaces_a_file_only_when_asked(scope, tmp_path):
    out = tmp_path / "out.jsonl"
    out.write_text("precious")
    assert "Choose another name, or replace it with --force" in refusal("export_memories", "--out", out)
    assert out.read_text() == "precious"
    run("export_memories", "--out", out, "--force")
    assert out.read_text().startswith('{"format": "zero-memory/1"')


def test_an_export_that_fails_leaves_the_old_file_and_no_scraps(scope, tmp_path, monkeypatch):
    out = tmp_path / "out.jsonl"
    out.write_text("precious")

    def fails(*_, **__):
        raise TransferError("broken")
        yield

    monkeypatch.setattr("memories.transfer.exporting._records", fails)
    assert refusal("export_memories", "--out", out, "--force") == "broken"
    assert out.read_text() == "precious"
    assert os.listdir(tmp_path) == ["out.jsonl"]  # noqa: PTH208


def test_an_export_can_be_read_by_its_owner_alone(scope, tmp_path):
    run("export_memories", "--out", tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").stat().st_mode & 0o077 == 0


def test_standard_output_carries_the_bytes_alone(scope, capfdbinary):
    call_command("export_memories", "--out", "-", stderr=io.StringIO())
    lines = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert [line["scope"] for line in lines if line.get("type") == "scope"] == ["home"]
    assert "format" in lines[0]


def test_what_travels_beside_the_memories_is_told_by_both_commands(scope, tmp_path):
    rule = make_rule(scope)
    told = run("export_memories", "--out", tmp_path / "out.jsonl")
    assert "With what is kept about them: 1 of standing_rule." in told
    rule.delete()
    told = run("import_memories", tmp_path / "out.jsonl")
    assert "With what is kept about them: 1 of standing_rule." in told


def test_settings_travel_with_all_scopes_and_not_with_one(scope, tmp_path):
    run("export_memories", "--out", tmp_path / "all.jsonl")
    run("export_memories", "--out", tmp_path / "one.jsonl", "--scope", "home")
    assert "ranking_config" in (tmp_path / "all.jsonl").read_text()
    assert "ranking_config" not in (tmp_path / "one.jsonl").read_text()


@pytest.mark.behaviour("Z79")
def test_only_what_the_person_may_read_is_exported(scope, tmp_path):
    make_memory("mine", scope=scope)
    make_memory("theirs", scope=make_scope(make_user(), slug="theirs"))
    run("export_memories", "--out", tmp_path / "out.jsonl", "--user", "owner")
    assert "theirs" not in (tmp_path / "out.jsonl").read_text()
    assert "There is no such scope" in refusal("export_memories", "--out", "x", "--scope", "theirs", "--user", "owner")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "/nowhere/out.jsonl"], "cannot be written: No such file"),
        (["--out", "x.jsonl", "--format", "git"], "git can only be read"),
    ],
)
def test_an_export_that_cannot_be_carried_out_says_why(scope, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert words in refusal("export_memories", *arguments)
    assert os.listdir(tmp_path) == []  # noqa: PTH208


def test_every_format_is_registered_under_its_own_name():
    assert {name: format_called(name).name for name in FORMATS} == dict(zip(FORMATS, FORMATS, strict=True))


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_says_what_it_is_and_what_it_can(name):
    found = format_called(name)
    assert found.label
    assert found.reads or found.writes
    assert found.takes_file or found.takes_folder
    assert found.reads == (found.read is not Format.read)
    assert found.writes == (found.write is not Format.write)
    assert all(suffix.startswith(".") for suffix in (found.suffix, *found.readable_suffixes()))
    assert "/" in found.media_type


def test_an_unknown_format_is_refused_with_a_list():
    with pytest.raises(TransferError, match="Choose from agents-md, basic-memory"):
        format_called("punchcards")

"""Folders at the command line."""

import stat

import pytest

from memories.models import Memory
from memories.transfer.folders import LIST
from tests.factories import make_memory
from tests.memories.carrying import erase_everything
from tests.memories.formats.reading import a_folder
from tests.memories.test_transfer_commands import refusal, run

pytestmark = pytest.mark.django_db


def files_of(folder) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.md")}


def export(folder, *arguments) -> str:
    return run("export_memories", "--format", "markdown", "--out", folder, *arguments)


@pytest.mark.behaviour("Z87")
def test_a_folder_is_written_and_read_again(scope, tmp_path):
    memory = make_memory("It silts up.", scope=scope, kind="gotcha")
    assert "Exported 1 memory of home." in export(tmp_path / "out")
    assert list(files_of(tmp_path / "out")) == [f"home/it-silts-up-{memory.pk}.md"]
    told = run("import_memories", tmp_path / "out", "--format", "markdown")
    assert "(0 new, 1 already there" in told
    erase_everything()
    run("import_memories", tmp_path / "out", "--format", "markdown")
    assert Memory.objects.get().kind == "gotcha"


def test_a_zip_is_written_where_one_is_named(scope, tmp_path):
    make_memory(scope=scope)
    export(tmp_path / "out.zip")
    assert (tmp_path / "out.zip").read_bytes().startswith(b"PK")
    assert "(0 new, 1 already there" in run("import_memories", tmp_path / "out.zip", "--format", "markdown")


def test_a_folder_that_holds_something_is_written_into_only_when_asked(scope, tmp_path):
    folder = a_folder(tmp_path / "out", {"README.md": "mine"})
    assert "Choose another name, or replace it with --force" in refusal(
        "export_memories", "--format", "markdown", "--out", folder
    )
    assert files_of(folder) == {"README.md": "mine"}


def test_a_newer_export_takes_the_files_of_the_earlier_one_away_and_nothing_else(scope, tmp_path):
    gone, kept = make_memory("gone", scope=scope), make_memory("kept", scope=scope)
    folder = a_folder(tmp_path / "out", {"README.md": "mine"})
    export(folder, "--force")
    gone.windows.all().delete()
    gone.delete()
    export(folder, "--force")
    assert set(files_of(folder)) == {"README.md", f"home/kept-{kept.pk}.md"}


def test_a_list_that_names_files_outside_removes_none(scope, tmp_path):
    folder = a_folder(
        tmp_path / "out", {LIST: f"../outside.md\n{tmp_path}/outside.md\nnotes.txt\n", "notes.txt": "mine"}
    )
    a_folder(tmp_path, {"outside.md": "mine"})
    export(folder, "--force")
    assert (tmp_path / "outside.md").read_text() == (folder / "notes.txt").read_text() == "mine"


def test_an_unchanged_file_keeps_its_date_so_that_others_see_no_change(scope, tmp_path):
    memory = make_memory("It silts up.", scope=scope)
    export(tmp_path / "out")
    path = tmp_path / "out" / "home" / f"it-silts-up-{memory.pk}.md"
    before = path.stat()
    export(tmp_path / "out", "--force")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_an_exported_folder_can_be_read_by_its_owner_alone(scope, tmp_path):
    make_memory(scope=scope)
    export(tmp_path / "out")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").rglob("*.md")]
    assert [mode & 0o077 for mode in [*modes, stat.S_IMODE((tmp_path / "out").stat().st_mode)]] == [0, 0]


def test_an_export_that_fails_leaves_the_folder_as_it_was_and_no_scraps(scope, tmp_path, monkeypatch):
    make_memory("one", scope=scope)
    export(tmp_path / "out")
    before = files_of(tmp_path / "out")
    make_memory("two", scope=scope)
    monkeypatch.setattr("memories.transfer.markdown.written", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export(tmp_path / "out", "--force")
    assert files_of(tmp_path / "out") == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_format_that_is_one_file_takes_no_folder(scope, tmp_path):
    assert "cannot be read: Is a directory" in refusal("import_memories", tmp_path, "--format", "jsonl")
    assert f"{tmp_path} does not tell which format it is in" in refusal("import_memories", tmp_path, "--scope", "home")


def test_a_move_that_fails_leaves_whole_files_and_the_next_export_puts_it_right(scope, tmp_path):
    gone, kept = make_memory("gone", scope=scope), make_memory("kept", scope=scope)
    folder = tmp_path / "out"
    export(folder)
    names = set(files_of(folder))
    gone.windows.all().delete()
    gone.delete()
    new = make_memory("a new one", scope=scope)
    in_the_way = folder / f"home/kept-{kept.pk}.md"
    in_the_way.unlink()
    in_the_way.mkdir()
    assert "cannot be written" in refusal("export_memories", "--format", "markdown", "--out", folder, "--force")
    assert {path.name for path in folder.iterdir()} == {LIST, "home"}
    assert set((folder / LIST).read_text().split()) == names | {f"home/a-new-one-{new.pk}.md"}
    in_the_way.rmdir()
    export(folder, "--force")
    assert set(files_of(folder)) == {f"home/kept-{kept.pk}.md", f"home/a-new-one-{new.pk}.md"}


@pytest.mark.parametrize("is_earlier", [True, False])
def test_a_folder_that_was_replaced_by_a_link_is_refused_and_nothing_is_changed(scope, tmp_path, is_earlier):
    memory = make_memory("gone", scope=scope)
    name = f"gone-{memory.pk}.md"
    folder, elsewhere = tmp_path / "out", a_folder(tmp_path / "elsewhere", {name: "mine"})
    export(folder)
    if is_earlier:
        memory.windows.all().delete()
        memory.delete()
    (folder / "home").rename(tmp_path / "home")
    (folder / "home").symlink_to(elsewhere)
    before = (folder / LIST).read_text()
    assert "is a symbolic link" in refusal("export_memories", "--format", "markdown", "--out", folder, "--force")
    assert files_of(elsewhere) == {name: "mine"}
    assert (folder / LIST).read_text() == before

"""Git history as dated episodes: real repositories, made with git itself and with dulwich."""

import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo

from memories.access import actor_for_user
from memories.models import Memory
from memories.transfer.errors import TransferError
from memories.transfer.git import LONGEST_MESSAGE, Git
from memories.transfer.importing import Report, import_from
from memories.transfer.records import MemoryRecord
from memories.transfer.trees import MOST_FILES, Trees

START = datetime(2024, 1, 1, 12, tzinfo=UTC)
WHO = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org"}
WHO |= {"GIT_COMMITTER_NAME": "C", "GIT_COMMITTER_EMAIL": "c@example.org"}


class Project:
    """A repository that is worked on: one commit an hour."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.hours = 0
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", *options)

    def git(self, *arguments: str, **environment: str) -> str:
        clean_environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1"} | WHO
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=clean_environment | environment, check=True, capture_output=True
        )
        return done.stdout.decode().strip()

    def write(self, *paths: str) -> None:
        for path in paths:
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{path} at {self.hours}\n")

    def commit(self, message: str, *paths: str, at: datetime | None = None, more: tuple[str, ...] = ()) -> str:
        self.hours += 1
        self.write(*paths)
        self.git("add", "-A")
        at = at or START + timedelta(hours=self.hours)
        dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{int(at.timestamp())} +0200")
        self.git("commit", "-q", "--allow-empty", "--allow-empty-message", "-m", message, *more, **dates)
        return self.git("rev-parse", "HEAD")

    def merge(self, branch: str, message: str) -> None:
        self.hours += 1
        at = f"{int((START + timedelta(hours=self.hours)).timestamp())} +0200"
        self.git("merge", "-q", "--no-ff", branch, "-m", message, GIT_AUTHOR_DATE=at, GIT_COMMITTER_DATE=at)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "harbour")


def read(folder: Path, **options) -> list[MemoryRecord]:
    return list(Git(**options).read(folder))


def names(record: MemoryRecord, type: str) -> list[str]:
    return [entity.name for entity in record.entities if entity.type == type]


def add_commit(repository: Repo, message: bytes, *, author: bytes = b"A <a@example.org>", **changes) -> Commit:
    """A commit object as nobody's git would write it."""
    commit = Commit()
    commit.tree = changes.pop("tree", Tree().id)
    commit.parents = changes.pop("parents", [])
    commit.author = commit.committer = author
    commit.author_time = commit.commit_time = changes.pop("time", int(START.timestamp()))
    commit.author_timezone = commit.commit_timezone = 0
    commit.message = message
    for name, value in changes.items():
        setattr(commit, name, value)
    repository.object_store.add_object(Tree())
    repository.object_store.add_object(commit)
    repository.refs[b"refs/heads/main"] = commit.id
    return commit


# What a commit becomes -----------------------------------------------------------------------


def test_a_commit_becomes_an_episode_with_its_date_source_and_entities(project):
    sha = project.commit(
        "Round heights in `tide_at()`\n\nSee #12 and TideTable.rows.", "src/tides/height.py", "uv.lock"
    )
    (record,) = read(project.folder)
    assert record.kind == "episode"
    assert record.content == "Round heights in `tide_at()`\n\nSee #12 and TideTable.rows."
    assert record.created_at == START + timedelta(hours=1)
    assert (record.source, record.external_id) == (f"git:harbour@{sha}", f"git:{sha}")
    assert (record.author_kind, record.provenance, record.agent) == ("import", 1, "")
    assert names(record, "path") == ["src/tides/height.py"]
    assert names(record, "package") == ["src/tides"]
    assert names(record, "identifier") == ["tide_at", "TideTable.rows"]
    assert names(record, "issue") == ["#12"]


def test_a_path_that_the_message_names_is_one_entity(tmp_path):
    project = Project(tmp_path / "tides")
    project.commit("Speed up `Src/cache.py` and `src/` by `lru_cache`", "src/cache.py", "src/tides/read_all.py")
    (record,) = read(project.folder)
    assert sorted((entity.type, entity.name) for entity in record.entities) == [
        ("identifier", "lru_cache"),
        ("package", "src"),
        ("package", "src/tides"),
        ("path", "src/cache.py"),
        ("path", "src/tides/read_all.py"),
    ]


def test_commits_come_oldest_first_whatever_branch_they_are_on(project):
    project.commit("first", "a.py")
    project.git("checkout", "-q", "-b", "side")
    project.commit("second, on a side branch never merged", "b.py")
    project.git("checkout", "-q", "main")
    project.commit("third", "c.py")
    assert [record.content.split(",")[0] for record in read(project.folder)] == ["first", "second", "third"]


def test_a_rename_names_both_paths_and_a_removal_its_path(project):
    project.commit("first", "old.py", "gone.py")
    project.git("mv", "old.py", "new.py")
    (project.folder / "gone.py").unlink()
    project.commit("second")
    assert names(read(project.folder)[1], "path") == ["gone.py", "new.py", "old.py"]


def test_a_merge_without_text_of_its_own_is_left_out_and_counted(project):
    project.commit("first", "a.py")
    project.git("checkout", "-q", "-b", "side")
    project.commit("second", "b.py")
    project.git("checkout", "-q", "main")
    project.commit("third", "c.py")
    project.merge("side", "Merge branch 'side'")
    git = Git()
    assert [record.content for record in git.read(project.folder)] == ["first", "second", "third"]
    assert git.skipped == {"merges without text of their own": 1}


def test_a_merge_that_says_something_keeps_its_words_its_issue_and_its_paths(project):
    project.commit("first", "a.py")
    project.git("checkout", "-q", "-b", "side")
    project.commit("second", "deep/b.py")
    project.git("checkout", "-q", "main")
    project.merge("side", "Merge pull request #7 from side\n\nServe heights in feet")
    merge = read(project.folder)[-1]
    assert merge.content == "Serve heights in feet"
    assert names(merge, "issue") == ["#7"]
    assert names(merge, "path") == ["deep/b.py"]


def test_a_commit_without_words_is_left_out_and_counted(project):
    project.commit("", "a.py")
    project.commit("Signed-off-by: A <a@example.org>", "b.py")
    git = Git()
    assert list(git.read(project.folder)) == []
    assert git.skipped == {"commits without text": 2}


def test_only_the_newest_or_those_since_a_date_when_asked(project):
    for number in range(5):
        project.commit(f"commit {number}", f"{number}.py")
    assert [record.content for record in read(project.folder, limit=2)] == ["commit 3", "commit 4"]
    since = START + timedelta(hours=4)
    assert [record.content for record in read(project.folder, since=since)] == ["commit 3", "commit 4"]
    assert names(read(project.folder, limit=1)[0], "path") == ["4.py"]


def test_a_date_in_the_future_is_taken_as_now_and_counted(project):
    project.commit("from a clock gone wrong", at=timezone.now() + timedelta(days=400))
    now = timezone.now()
    git = Git(now=now)
    assert [record.created_at for record in git.read(project.folder)] == [now]
    assert git.notes.total() == 1


# Repositories of every build -----------------------------------------------------------------


def bare(project: Project) -> Path:
    project.git("clone", "-q", "--bare", ".", "../bare.git")
    return project.folder.parent / "bare.git"


def worktree(project: Project) -> Path:
    project.git("worktree", "add", "-q", "--detach", "../tree")
    return project.folder.parent / "tree"


def packed(project: Project) -> Path:
    project.git("gc", "-q", "--aggressive")
    project.git("pack-refs", "--all")
    return project.folder


def submodule(project: Project) -> Path:
    outer = Project(project.folder.parent / "outer")
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(project.folder), "inner")
    return outer.folder / "inner"


def detached(project: Project) -> Path:
    project.git("checkout", "-q", "--detach", "HEAD~1")
    return project.folder


def git_folder(project: Project) -> Path:
    return project.folder / ".git"


@pytest.mark.parametrize("build", [bare, worktree, packed, submodule, detached, git_folder])
def test_the_same_history_is_read_from(project, build: Callable[[Project], Path]):
    project.commit("first", "a.py")
    project.commit("second", "b.py")
    records = read(build(project))
    assert [record.content for record in records] == ["first", "second"]
    assert [names(record, "path") for record in records] == [["a.py"], ["b.py"]]


def test_a_repository_of_sha_256_is_read(tmp_path):
    project = Project(tmp_path / "long", "--object-format=sha256")
    sha = project.commit("first", "a/b.py")
    (record,) = read(project.folder)
    assert record.external_id == f"git:{sha}"
    assert names(record, "path") == ["a/b.py"]


def test_a_shallow_clone_ends_without_paths_and_without_an_error(project):
    for number in range(3):
        project.commit(f"commit {number}", f"{number}.py")
    project.git("clone", "-q", "--depth", "2", f"file://{project.folder}", "../shallow")
    records = read(project.folder.parent / "shallow")
    assert [record.content for record in records] == ["commit 1", "commit 2"]
    assert [names(record, "path") for record in records] == [[], ["2.py"]]


def test_a_clone_without_trees_gives_its_messages_and_counts_what_it_lacks(project):
    project.git("config", "uploadpack.allowFilter", "true")
    project.commit("first", "a.py")
    project.git("clone", "-q", "--no-checkout", "--filter=tree:0", f"file://{project.folder}", "../partial")
    git = Git()
    (record,) = git.read(project.folder.parent / "partial")
    assert (record.content, record.entities) == ("first", ())
    assert git.notes.total() == 1


def test_a_submodule_is_a_path_of_the_outer_repository(project):
    project.commit("first", "a.py")
    outer = submodule(project).parent
    Project(outer).commit("Add the inner one")
    assert "inner" in names(read(outer)[0], "path")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: folder / "missing", "There is no folder"),
        (lambda folder: folder, "is not a git repository"),
        (lambda folder: Project(folder / "empty").folder, "has no commits yet"),
    ],
)
def test_what_cannot_be_read_as_a_history_is_refused_with_a_sentence(tmp_path, make, words):
    with pytest.raises(TransferError, match=words):
        read(make(tmp_path))


def test_a_file_in_place_of_a_folder_is_refused_with_a_sentence(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(TransferError, match="is not a git repository"):
        read(tmp_path / "file")


def test_a_missing_commit_is_named(project):
    first = project.commit("first", "a.py")
    project.commit("second", "b.py")
    (project.folder / ".git/objects" / first[:2] / first[2:]).unlink()
    with pytest.raises(TransferError, match=f"Commit {first} is missing"):
        read(project.folder)


def test_a_damaged_commit_is_named(project):
    sha = project.commit("first", "a.py")
    file = project.folder / ".git/objects" / sha[:2] / sha[2:]
    file.chmod(0o644)
    file.write_bytes(b"nonsense")
    with pytest.raises(TransferError, match=f"Commit {sha} cannot be read"):
        read(project.folder)


def test_a_commit_whose_files_are_missing_is_kept_without_paths(project):
    project.commit("first", "a.py")
    tree = project.git("rev-parse", "HEAD^{tree}")
    (project.folder / ".git/objects" / tree[:2] / tree[2:]).unlink()
    git = Git()
    (record,) = git.read(project.folder)
    assert (record.content, record.entities) == ("first", ())
    assert git.notes == {"commits whose files are not in this clone": 1}


# Odd and hostile commits ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "changes", "text"),
    [
        ("Größe".encode("latin-1"), {"encoding": b"ISO-8859-1"}, "Größe"),
        ("潮位".encode("shift-jis"), {"encoding": b"Shift_JIS"}, "潮位"),
        ("Größe".encode("latin-1"), {}, "Größe"),
        ("“quoted”".encode("cp1252"), {}, "“quoted”"),
        (b"plain", {"encoding": b"no-such-encoding"}, "plain"),
        (b"plain", {"encoding": b"base64"}, "plain"),
        (b"plain", {"encoding": b"idna"}, "plain"),
        (b"half \\ud800 a pair", {"encoding": b"unicode_escape"}, "half ? a pair"),
        (b"a\x00b\x07c", {}, "a\ufffdb\ufffdc"),
        (b"one\r\ntwo\rthree", {}, "one\ntwo\nthree"),
        ("emoji 🌊 and \u202e override".encode(), {}, "emoji 🌊 and \u202e override"),
        (b"<script>alert(1)</script> {{ x }} %s", {}, "<script>alert(1)</script> {{ x }} %s"),
        (b"no address", {"author": b"Somebody"}, "no address"),
    ],
)
def test_odd_bytes_become_text_that_can_be_stored(tmp_path, message, changes, text):
    with Repo.init(str(tmp_path / "odd"), mkdir=True, default_branch=b"main") as repository:
        add_commit(repository, message, **{"author": b"A <a@example.org>"} | changes)
    assert [record.content for record in read(tmp_path / "odd")] == [text]


def test_a_message_of_megabytes_is_cut_and_counted(tmp_path):
    with Repo.init(str(tmp_path / "long"), mkdir=True, default_branch=b"main") as repository:
        add_commit(repository, b"word " * 400_000)
    git = Git()
    (record,) = git.read(tmp_path / "long")
    assert LONGEST_MESSAGE - 5 < len(record.content) <= LONGEST_MESSAGE
    assert git.notes == {"messages cut at 1,000,000 characters": 1}


@pytest.mark.parametrize("files_on_top", [0, MOST_FILES + 10])
def test_a_tree_that_names_billions_of_files_is_read_to_its_bound(tmp_path, files_on_top):
    with Repo.init(str(tmp_path / "bomb"), mkdir=True, default_branch=b"main") as repository:
        store = repository.object_store
        blob = Blob.from_string(b"x")
        store.add_object(blob)
        top = tree_of(store, [(b"f%d" % number, 0o100644, blob.id) for number in range(10)])
        for _ in range(12):
            top = tree_of(store, [(b"d%d" % number, 0o040000, top) for number in range(10)])
        files = [(b"f%d" % number, 0o100644, blob.id) for number in range(files_on_top)]
        top = tree_of(store, [(b"d", 0o040000, top), *files])
        assert len(Trees(store).changed(b"", top)) == min(files_on_top, MOST_FILES)


def tree_of(store, entries: list[tuple[bytes, int, bytes]]) -> bytes:
    tree = Tree()
    for name, mode, sha in entries:
        tree.add(name, mode, sha)
    store.add_object(tree)
    return tree.id


# Into the database ---------------------------------------------------------------------------


def load(project: Project, scope, **options) -> Report:
    return import_from(Git(**options), project.folder, actor=actor_for_user(scope.owner), scope=scope)


@pytest.mark.django_db
@pytest.mark.behaviour("F11")
def test_a_history_is_imported_once_and_then_only_what_is_new(project, scope):
    for number in range(3):
        project.commit(f"commit {number}", f"src/{number}.py")
    assert load(project, scope).written == 3
    assert load(project, scope).written == 0
    project.commit("commit 3", "src/3.py")
    report = load(project, scope)
    assert (report.read, report.written, report.existing, report.differing) == (4, 1, 3, ())
    assert Memory.objects.filter(scope=scope, kind="episode", author_kind="import").count() == 4


@pytest.mark.django_db
def test_a_clone_elsewhere_is_the_same_history(project, scope):
    project.commit("first", "a.py")
    load(project, scope)
    report = import_from(Git(), bare(project), actor=actor_for_user(scope.owner), scope=scope)
    assert (report.written, report.existing) == (0, 1)


@pytest.mark.django_db
def test_episodes_of_one_file_share_its_entity(project, scope):
    project.commit("first", "src/tide.py")
    project.commit("second", "src/tide.py")
    load(project, scope)
    assert Memory.objects.filter(entities__name="src/tide.py", entities__type="path").count() == 2


@pytest.mark.django_db
def test_two_commits_of_the_same_words_stay_two_episodes(project, scope):
    project.commit("Fix typo", "a.py")
    project.commit("Fix typo", "b.py")
    assert load(project, scope).written == 2

"""Git history: every commit that says something becomes a dated episode."""

import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from django.utils import timezone
from dulwich.errors import ChecksumMismatch, NotGitRepository, ObjectFormatException
from dulwich.objects import Commit as CommitObject
from dulwich.objects import ObjectID
from dulwich.refs import HEADREF, LOCAL_BRANCH_PREFIX
from dulwich.repo import Repo, UnsupportedExtension, UnsupportedVersion

from memories.guard import masked, secret_in
from memories.transfer.commits import Commit, clean, decode, parse_commit
from memories.transfer.contract import Format
from memories.transfer.errors import TransferError
from memories.transfer.mentions import about
from memories.transfer.records import EntityRecord, MemoryRecord
from memories.transfer.trees import Trees

LONGEST_MESSAGE = 1_000_000  # characters; some histories hold generated novels
_DAMAGE = (AssertionError, ChecksumMismatch, ObjectFormatException, OSError, ValueError, zlib.error)


@dataclass(frozen=True, slots=True)
class _Step:
    """A commit's place in the history. ``parent`` is None at a root and '' where a shallow clone ends."""

    sha: bytes
    tree: bytes
    parent: bytes | None
    at: datetime


class Git(Format):
    """Reads a repository on this machine: the history of HEAD and of every local branch, oldest first."""

    name = "git"
    label = "History of a git repository"
    suffix = ".git"
    media_type = "application/octet-stream"
    reads = takes_folder = True
    takes_file = False

    def __init__(self, *, limit: int | None = None, since: datetime | None = None, now: datetime | None = None) -> None:
        super().__init__()
        self.limit = limit
        self.since = since
        self.now = now or timezone.now()

    def read(self, source: Path) -> Iterator[MemoryRecord]:
        with _opened(source) as repository:
            steps = list(self._walk(repository))
            known = {step.sha: step.tree for step in steps}
            trees, name = Trees(repository.object_store), _name_of(source)
            for step in self._chosen(steps):
                commit = self._without_secrets(parse_commit(_raw(repository, step.sha)))
                if text := self._text(commit):
                    before = _tree_before(repository, step, known)
                    yield _record(name, step, text, self._entities(trees, before, step, commit))

    def _walk(self, repository: Repo) -> Iterator[_Step]:
        shallow = repository.get_shallow()
        pending = _heads(repository)
        seen = set(pending)
        while pending:
            sha = pending.pop()
            commit = parse_commit(_raw(repository, sha))
            parents = () if sha in shallow else commit.parents
            pending.extend(parent for parent in parents if parent not in seen)
            seen.update(parents)
            if at := self._date(commit):
                parent = b"" if sha in shallow else next(iter(parents), None)
                yield _Step(sha, commit.tree, parent, at)

    def _date(self, commit: Commit) -> datetime | None:
        at = commit.authored_at or commit.committed_at
        if at is None:
            self.skipped["commits without a readable date"] += 1
            return None
        if at <= self.now:
            return at
        self.notes["commits dated in the future, taken at their commit date or now"] += 1
        return min(commit.committed_at or self.now, self.now)

    def _chosen(self, steps: list[_Step]) -> list[_Step]:
        since = self.since
        chosen = sorted((step for step in steps if not since or step.at >= since), key=lambda step: (step.at, step.sha))
        return chosen[-self.limit :] if self.limit else chosen

    def _without_secrets(self, commit: Commit) -> Commit:
        """History cannot be corrected any more, so what it gave away is masked, and the commit stays."""
        message = masked(commit.message)
        if message == commit.message:
            return commit
        self.notes["commits with a secret in the message, which was masked"] += 1
        return replace(commit, message=message)

    def _text(self, commit: Commit) -> str:
        text = commit.own_text
        if not text:
            merged = len(commit.parents) > 1
            self.skipped["merges without text of their own" if merged else "commits without text"] += 1
        if len(text) > LONGEST_MESSAGE:
            self.notes[f"messages cut at {LONGEST_MESSAGE:,} characters"] += 1
            return text[:LONGEST_MESSAGE].rstrip()
        return text

    def _entities(self, trees: Trees, before: bytes | None, step: _Step, commit: Commit) -> tuple[EntityRecord, ...]:
        paths = [] if before is None else self._paths(trees, before, step.tree)
        return tuple(EntityRecord(name, type) for type, name in about(paths, commit.message))

    def _paths(self, trees: Trees, before: bytes, after: bytes) -> list[str]:
        """What changed against the first parent, old and new names; nothing where a partial clone has no trees."""
        try:
            paths = [clean(decode(path)) for path in trees.changed(before, after)]
            return [path for path in paths if secret_in(path) is None]
        except (KeyError, *_DAMAGE):
            self.notes["commits whose files are not in this clone"] += 1
            return []


def _tree_before(repository: Repo, step: _Step, known: dict[bytes, bytes]) -> bytes | None:
    """The first parent's tree, empty at a root; None where a shallow clone ends and nobody knows."""
    if step.parent is None:
        return b""
    if not step.parent:
        return None
    return known.get(step.parent) or parse_commit(_raw(repository, step.parent)).tree


def _record(repository: str, step: _Step, text: str, entities: tuple[EntityRecord, ...]) -> MemoryRecord:
    sha = step.sha.decode("ascii")
    return MemoryRecord(
        content=text,
        kind="episode",
        created_at=step.at,
        author_kind="import",
        provenance=1,
        source=f"git:{repository}@{sha}",
        # The object name alone: it is the same in every clone, fork and worktree of the history.
        external_id=f"git:{sha}",
        entities=entities,
    )


@contextmanager
def _opened(path: Path) -> Iterator[Repo]:
    if not path.exists():
        raise TransferError(f"There is no folder {path}. Give the path of a git repository.", field="repo")
    try:
        repository = Repo(str(path))
    except NotGitRepository as error:
        raise TransferError(
            f"{path} is not a git repository. Give its top folder, or a bare repository.", field="repo"
        ) from error
    except (UnsupportedExtension, UnsupportedVersion) as error:
        raise TransferError(f"{path} uses a git feature that cannot be read here: {error}.", field="repo") from error
    except (OSError, ValueError) as error:
        raise TransferError(f"{path} cannot be opened as a git repository: {error}.", field="repo") from error
    with closing(repository):
        yield repository


def _heads(repository: Repo) -> list[bytes]:
    try:
        refs = repository.get_refs()
    except (KeyError, OSError, ValueError) as error:
        raise TransferError(f"The branches of this repository cannot be read: {error}.", field="repo") from error
    heads = {sha for name, sha in refs.items() if name == HEADREF or name.startswith(LOCAL_BRANCH_PREFIX)}
    if not heads:
        raise TransferError("This repository has no commits yet. Make one, then import it.", field="repo")
    return sorted(heads)


def _raw(repository: Repo, sha: bytes) -> bytes:
    shown = sha.decode("ascii", "replace")
    try:
        number, raw = repository.object_store.get_raw(ObjectID(sha))
    except KeyError as error:
        raise TransferError(f"Commit {shown} is missing from this repository. Fetch it, or run git fsck.") from error
    except _DAMAGE as error:
        raise TransferError(f"Commit {shown} cannot be read ({error}). Run git fsck on the repository.") from error
    if number != CommitObject.type_num:
        raise TransferError(f"Object {shown} is named as a commit but is none. Run git fsck on the repository.")
    return raw


def _name_of(path: Path) -> str:
    resolved = path.resolve()
    name = resolved.parent.name if resolved.name == ".git" else resolved.name
    return name.removesuffix(".git") or "repository"

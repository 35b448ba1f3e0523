"""A working tree as it is now: files read safely, and never from a memory that could be out of date."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

from memories.code.grammars import language_of
from memories.code.symbols import Source, Symbol, normalised

MOST_BYTES: Final = 2 * 1024 * 1024
MOST_FILES: Final = 20_000
MOST_SEARCHED: Final = 64 * 1024 * 1024  # bytes that are read to find where a symbol went
GIT_SECONDS: Final = 5.0
GIT_SECONDS_IN_ALL: Final = 15.0  # of all calls of one look
TOO_LARGE: Final = "It is not in its place, and the repository is too large to look for it everywhere."
_LOOKED_AT: Final = 8192  # bytes in which a NUL tells that a file is no text
_IGNORED: Final = frozenset({".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".tox", "target"})


class Unreadable(Exception):
    """Nobody could look; the message says why. That is never the same as gone."""


class Missing(Exception):
    """There is no such file, and the tree around it can be read."""


@dataclass(frozen=True, slots=True)
class FileNow:
    """The contents of one file. ``sha256`` is that of the bytes, under which what was found in them may be kept."""

    path: str
    language: str
    text: str
    sha256: str


class Checkout:
    """One look at one working tree: each file is read once. Make a new one for the next look."""

    git_seconds_in_all = GIT_SECONDS_IN_ALL

    def __init__(self, root: str) -> None:
        self.root = Path(root)
        self._git_seconds = 0.0
        self._files: dict[str, FileNow | Exception] = {}
        self._searched: dict[str, bytes] = {}

    @cached_property
    def real_root(self) -> Path:
        try:
            real = self.root.resolve(strict=True)
            with os.scandir(real) as entries:
                if next(entries, None) is None:
                    raise Unreadable("The folder of the repository is empty: is it mounted?")
        except OSError as error:
            raise Unreadable(f"The folder of the repository cannot be read: {_why(error)}.") from error
        return real

    def read(self, path: str) -> FileNow:
        """Raises Unreadable, and Missing where the tree can be read and has no such file."""
        if path not in self._files:
            try:
                self._files[path] = self._read(path)
            except (Unreadable, Missing) as error:
                self._files[path] = error
        found = self._files[path]
        if isinstance(found, Exception):
            raise found
        return found

    def _read(self, path: str) -> FileNow:
        content = self._bytes(path)
        if b"\0" in content[:_LOOKED_AT]:
            raise Unreadable("The file is not text.")
        return FileNow(path, language_of(path), _decoded(content), hashlib.sha256(content).hexdigest())

    def _bytes(self, path: str) -> bytes:
        """Raises Unreadable and Missing."""
        return self._content(self._inside(path))

    def _inside(self, path: str) -> Path:
        """The real path. Raises Unreadable where it leads out of the tree, also by a symbolic link."""
        check_path(path)
        try:
            real = (self.real_root / path).resolve()
        except (OSError, RuntimeError) as error:
            raise Unreadable(f"The file cannot be read: {_why(error)}.") from error
        if not real.is_relative_to(self.real_root):
            raise Unreadable("The path leads out of the repository.")
        return real

    def _content(self, real: Path) -> bytes:
        try:
            descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Missing from error
        except OSError as error:
            raise Unreadable(f"The file cannot be read: {_why(error)}.") from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Unreadable("That is not a file.")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                content = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise Unreadable(f"The file cannot be read: {_why(error)}.") from error
        finally:
            os.close(descriptor)
        if len(content) > MOST_BYTES:
            raise Unreadable(f"The file is larger than {MOST_BYTES // 1024**2} MB.")
        return content

    def symbol(self, path: str, qualified: str) -> Symbol | None:
        """None where the file defines no such symbol. Raises Unreadable, also where a syntax error may hide it, and
        Missing."""
        file = self.read(path)
        found = _kept.get((file.sha256, file.language, qualified)) or _seen(file, qualified)
        if found.symbol is None and found.has_errors:
            raise Unreadable("The file does not parse, so what it defines cannot be told.")
        return found.symbol

    def source(self, path: str) -> Source:
        file = self.read(path)
        return Source(file.text, file.language)

    @cached_property
    def paths(self) -> list[str]:
        """The files that belong to the tree, without what git ignores. Raises Unreadable above MOST_FILES."""
        found = sorted(self._listed_by_git() or self._walked())
        if len(found) > MOST_FILES:
            raise Unreadable(f"The repository has more than {MOST_FILES:,} files.")
        return found

    def _listed_by_git(self) -> list[str] | None:
        listed = self.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        return None if listed is None else [path for path in listed.split("\0") if path]

    def _walked(self) -> Iterator[str]:
        for folder, folders, names in os.walk(self.real_root):
            folders[:] = [name for name in folders if name not in _IGNORED]
            for name in names:
                yield str((Path(folder) / name).relative_to(self.real_root))

    def defining(self, language: str, words: Collection[str], *, until: float) -> Iterator[tuple[str, list[Outline]]]:
        """The files of that language in which all *words* occur, with what they define.

        Raises Unreadable above MOST_SEARCHED bytes, and once ``time.monotonic()`` is past *until*. What was outlined
        by then need not be again, so that a later look comes further.
        """
        sought = [word.encode() for word in words]
        for path, content in self._contents(lambda path: language_of(path) == language, until):
            if all(word in content for word in sought):
                yield path, _outlined(content, language)

    def alike(self, path: str, code_sha256: str, *, until: float) -> Iterator[str]:
        """The files of the same ending whose text, with line feeds at its ends, has this SHA-256. Raises as above."""
        ending = PurePosixPath(path).suffix
        for other, content in self._contents(lambda each: PurePosixPath(each).suffix == ending, until):
            if (
                content
                and hashlib.sha256(normalised(_decoded(content)).encode("utf-8", "surrogatepass")).hexdigest()
                == code_sha256
            ):
                yield other

    def _contents(self, belongs: Callable[[str], bool], until: float) -> Iterator[tuple[str, bytes]]:
        read = 0
        for path in self.paths:
            if not belongs(path):
                continue
            if time.monotonic() > until:
                raise Unreadable("It is not in its place, and there was no time to look for it everywhere.")
            content = self._searched.get(path)
            if content is None:
                content = self._searched[path] = self._content_if_any(path)
            read += len(content)
            if read > MOST_SEARCHED:
                raise Unreadable(TOO_LARGE)
            yield path, content

    def _content_if_any(self, path: str) -> bytes:
        try:
            return self._bytes(path)
        except (Unreadable, Missing):
            return b""

    def is_ignored(self, path: str) -> bool:
        """Whether git keeps the file out of the repository: what stands there is nobody else's to read."""
        folder, _, name = path.rpartition("/")
        return self.git(
            "check-ignore", "--no-index", "-q", "--", name, folder=folder
        ) is not None and not self._is_tracked(folder, name)

    def _is_tracked(self, folder: str, name: str) -> bool:
        return self.git("ls-files", "--error-unmatch", "--", name, folder=folder) is not None

    @cached_property
    def revision(self) -> str:
        """The commit that is checked out; empty where git does not know."""
        return (self.git("rev-parse", "HEAD") or "").strip()[:64]

    def git(self, *arguments: str, folder: str = "") -> str | None:
        """What git says in *folder*; None where it is missing, refuses, or takes longer than GIT_SECONDS, or than is
        left of GIT_SECONDS_IN_ALL. It is never asked to write anything, or to run what the repository configures."""
        told = self.git_bytes(*arguments, folder=folder)
        return None if told is None else told.decode("utf-8", "replace")

    def git_bytes(self, *arguments: str, folder: str = "", asked: bytes = b"") -> bytes | None:
        """As ``git``, which reads *asked* on its standard input."""
        command = [
            "git",
            "-C",
            str(self.real_root / folder),
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
        ]
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "LC_ALL": "C",
        }
        began, left = time.monotonic(), self.git_seconds_in_all - self._git_seconds
        if left <= 0:
            return None
        try:
            done = subprocess.run(  # noqa: S603  a fixed command over checked arguments
                [*command, "-c", f"safe.directory={self.real_root}", *arguments],
                env=environment,
                input=asked,
                capture_output=True,
                timeout=min(GIT_SECONDS, left),
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        finally:
            self._git_seconds += time.monotonic() - began
        return done.stdout


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def check_path(path: str) -> None:
    """Raises Unreadable for what cannot be a path inside a tree."""
    parts = path.split("/")
    if (
        not path
        or path.startswith("/")
        or "\0" in path
        or "\\" in path
        or any(part in {"", ".", ".."} for part in parts)
    ):
        raise Unreadable(
            "Name the file by its path inside the repository, with forward slashes and no . or .. in between."
        )
    if ".git" in path.lower().split("/"):
        raise Unreadable("What git keeps for itself is not code.")


def _why(error: Exception) -> str:
    return (getattr(error, "strerror", None) or "it is not a path").lower()


@dataclass(frozen=True, slots=True)
class _Seen:
    symbol: Symbol | None
    has_errors: bool


MOST_KEPT: Final = 4096
_kept: dict[tuple[str, str, str], _Seen] = {}


def forget_all() -> None:
    """As in a process that has just started."""
    _kept.clear()
    _outlines.clear()


@dataclass(frozen=True, slots=True)
class Outline:
    """A symbol without its text."""

    name: str
    exact: str
    masked: str


MOST_OUTLINES: Final = 20_000
_outlines: dict[tuple[str, str], list[Outline]] = {}


def _outlined(content: bytes, language: str) -> list[Outline]:
    key = (hashlib.sha256(content).hexdigest(), language)
    found = _outlines.get(key)
    if found is None:
        found = list(_outline(Source(_decoded(content), language)))
        while len(_outlines) >= MOST_OUTLINES:
            _outlines.pop(next(iter(_outlines)), None)
        _outlines[key] = found
    return found


def _outline(source: Source) -> Iterator[Outline]:
    for name in source.names():
        if symbol := source.symbol(name):
            yield Outline(name, symbol.fingerprints.exact, symbol.fingerprints.masked)


def _seen(file: FileNow, qualified: str) -> _Seen:
    """What these bytes define is the same for ever, so it is the one thing that is kept."""
    source = Source(file.text, file.language)
    seen = _Seen(source.symbol(qualified) if qualified else source.whole, source.has_errors)
    while len(_kept) >= MOST_KEPT:
        _kept.pop(next(iter(_kept)), None)
    _kept[file.sha256, file.language, qualified] = seen
    return seen

"""A tree as one commit holds it, read from git alone: what is checked out does not matter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from memories.checkout import (
    MOST_BYTES,
    MOST_FILES,
    MOST_SEARCHED,
    TOO_LARGE,
    Checkout,
    Missing,
    Unreadable,
    check_path,
)


@dataclass(frozen=True, slots=True)
class _Blob:
    name: str
    size: int


class Committed(Checkout):
    """What *commit* holds of the folder *root*. Only regular files are read."""

    git_seconds_in_all = 120.0  # nobody waits at a page

    def __init__(self, root: str, commit: str) -> None:
        super().__init__(root)
        self.commit = commit
        self._loaded: dict[str, bytes] = {}

    @cached_property
    def _blobs(self) -> dict[str, _Blob]:
        listed = self.git("ls-tree", "-r", "-z", "-l", self.commit)
        if listed is None:
            raise Unreadable("git does not say what the commit holds.")
        return dict(_blobs_in(listed))

    @cached_property
    def paths(self) -> list[str]:
        if len(self._blobs) > MOST_FILES:
            raise Unreadable(f"The repository has more than {MOST_FILES:,} files.")
        return sorted(self._blobs)

    def _bytes(self, path: str) -> bytes:
        check_path(path)
        blob = self._blobs.get(path)
        if blob is None:
            raise Missing
        if blob.size > MOST_BYTES:
            raise Unreadable(f"The file is larger than {MOST_BYTES // 1024**2} MB.")
        self._load([path])
        return self._loaded[path]

    def _contents(self, belongs: Callable[[str], bool], until: float) -> Iterator[tuple[str, bytes]]:
        wanted = [path for path in self.paths if belongs(path) and self._blobs[path].size <= MOST_BYTES]
        if sum(self._blobs[path].size for path in wanted) > MOST_SEARCHED:
            raise Unreadable(TOO_LARGE)
        self._load(wanted)  # at once: a call of git for each file takes longer than its contents
        yield from super()._contents(belongs, until)

    def _load(self, paths: Collection[str]) -> None:
        wanted = [path for path in paths if path not in self._loaded]
        asked = "".join(f"{self._blobs[path].name}\n" for path in wanted).encode()
        told = self.git_bytes("cat-file", "--batch", asked=asked) if wanted else b""
        if told is None:
            raise Unreadable("git does not give what the commit holds.")
        self._loaded |= zip(wanted, _contents_in(told), strict=True)


def _blobs_in(listed: str) -> Iterator[tuple[str, _Blob]]:
    for line in listed.split("\0"):
        about, _, path = line.partition("\t")
        if about.startswith("100"):  # neither a symbolic link nor another repository
            _, _, name, size = about.split()
            yield path, _Blob(name, int(size))


def _contents_in(told: bytes) -> Iterator[bytes]:
    """Each answer is a line that ends in the size, so many bytes, and the end of a line."""
    at = 0
    while at < len(told):
        end = told.index(b"\n", at)
        start, size = end + 1, int(told[at:end].rpartition(b" ")[2])
        yield told[start : start + size]
        at = start + size + 1

"""Which files differ between two git trees."""

from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from stat import S_ISDIR

from dulwich.object_store import BaseObjectStore
from dulwich.objects import ObjectID, parse_tree

# Looked at in one commit. A crafted tree names billions of either in a few kilobytes.
MOST_FILES = MOST_FOLDERS = 5000
_CACHED_TREES = 512

type _Entry = tuple[bytes, tuple[int, bytes]]


class Trees:
    """Compares by entry, so a commit costs what it changed and not what the project holds.

    Raises KeyError where a partial clone lacks a tree, and ValueError for one that cannot be parsed.
    """

    def __init__(self, store: BaseObjectStore) -> None:
        self._store = store
        self._entries = lru_cache(_CACHED_TREES)(self._read)

    def changed(self, old: bytes, new: bytes) -> list[bytes]:
        """Paths added, removed or modified, those nearest to the top first; an empty name is the empty tree."""
        return list(islice(self._walk(old, new), MOST_FILES))

    def _walk(self, old: bytes, new: bytes) -> Iterator[bytes]:
        pending = deque([(b"", old, new)])
        for _ in range(MOST_FOLDERS):
            if not pending:
                return
            folder, before, after = pending.popleft()
            for name, was, now in _differing(self._entries(before), self._entries(after)):
                if not _is_folder(was) or not _is_folder(now):
                    yield folder + name
                if _tree(was) or _tree(now):
                    pending.append((folder + name + b"/", _tree(was), _tree(now)))

    def _read(self, tree: bytes) -> frozenset[_Entry]:
        if not tree:
            return frozenset()
        _, raw = self._store.get_raw(ObjectID(tree))
        return frozenset((name, (mode, bytes(sha))) for name, mode, sha in parse_tree(raw, len(tree) // 2))


def _differing(
    before: frozenset[_Entry], after: frozenset[_Entry]
) -> Iterator[tuple[bytes, tuple[int, bytes] | None, tuple[int, bytes] | None]]:
    was, now = dict(before - after), dict(after - before)
    for name in sorted(was.keys() | now.keys()):
        yield name, was.get(name), now.get(name)


def _is_folder(entry: tuple[int, bytes] | None) -> bool:
    return entry is None or S_ISDIR(entry[0])


def _tree(entry: tuple[int, bytes] | None) -> bytes:
    return entry[1] if entry and S_ISDIR(entry[0]) else b""

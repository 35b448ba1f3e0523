"""Recent queries, so that paging and repeated searches do not run the model again."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

import numpy as np
from numpy.typing import NDArray

CAPACITY = 1024  # vectors; 1.5 MB at 384 dimensions


class QueryCache:
    """Least recently used first out. Keys are hashes, so a long query does not stay in memory."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._vectors: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._vectors)

    def get(self, text: str, encode: Callable[[str], NDArray[np.float32]]) -> NDArray[np.float32]:
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            if key in self._vectors:
                self._vectors.move_to_end(key)
                return self._vectors[key]
        vector = encode(text)  # outside the lock: one slow query must not hold up the others
        vector.setflags(write=False)
        with self._lock:
            self._vectors[key] = vector
            if len(self._vectors) > self._capacity:
                self._vectors.popitem(last=False)
        return vector

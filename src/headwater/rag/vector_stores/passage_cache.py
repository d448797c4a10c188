"""A cache of recently found passages by point number, to save reads from the store."""

import threading
from collections.abc import Iterable, Mapping
from itertools import islice

from headwater.rag.passage import Passage


class PassageCache:
    """Thread-safe; evicts the oldest passage when full.

    Every write must be between `begin_write` and `end_write`: concurrent reads are not cached.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._passages: dict[int, Passage] = {}
        self._writes = 0

    def __len__(self) -> int:
        return len(self._passages)

    @property
    def known(self) -> Mapping[int, Passage]:
        """Return the current contents; other threads may change them concurrently."""
        return self._passages

    def find(self, numbers: Iterable[int]) -> dict[int, Passage | None]:
        """Return each passage, or None where it is not cached."""
        known = self._passages
        return {number: known.get(number) for number in numbers}

    def begin_read(self) -> int:
        """Call before reading the store; returns the token for `add`."""
        return self._writes

    def add(self, read: Mapping[int, Passage], begun: int) -> None:
        """Cache what was read since `begun`, unless there was a write since then."""
        with self._lock:
            if self._writes != begun:
                return
            self._passages.update(read)
            surplus = max(0, len(self._passages) - self._capacity)
            for number in list(islice(self._passages, surplus)):
                del self._passages[number]

    def begin_write(self) -> None:
        """Call before writing to the store."""
        with self._lock:
            self._writes += 1

    def end_write(self, numbers: Iterable[int]) -> None:
        """Call after the points were written, or may have been."""
        with self._lock:
            self._writes += 1
            for number in numbers:
                self._passages.pop(number, None)

"""Passages that searches found lately, by the numbers of their points: what the store does not read again."""

import threading
from collections.abc import Iterable, Mapping
from itertools import islice

from headwater.rag.passage import Passage


class PassageCache:
    """Thread-safe; the oldest go when it is full. Right as long as every write is between `begin_write` and
    `end_write`: what was read beside one is not kept."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._passages: dict[int, Passage] = {}
        self._writes = 0

    def __len__(self) -> int:
        return len(self._passages)

    @property
    def known(self) -> Mapping[int, Passage]:
        """What is here now; others may change it meanwhile."""
        return self._passages

    def find(self, numbers: Iterable[int]) -> dict[int, Passage | None]:
        """Each, or None where it is not here."""
        known = self._passages
        return {number: known.get(number) for number in numbers}

    def begin_read(self) -> int:
        """Before the store is read; what `add` wants to know."""
        return self._writes

    def add(self, read: Mapping[int, Passage], begun: int) -> None:
        """Keep what was read since `begun`, unless something was written meanwhile."""
        with self._lock:
            if self._writes != begun:
                return
            self._passages.update(read)
            surplus = max(0, len(self._passages) - self._capacity)
            for number in list(islice(self._passages, surplus)):
                del self._passages[number]

    def begin_write(self) -> None:
        """Before the store is written."""
        with self._lock:
            self._writes += 1

    def end_write(self, numbers: Iterable[int]) -> None:
        """After the points were written, or perhaps were."""
        with self._lock:
            self._writes += 1
            for number in numbers:
                self._passages.pop(number, None)

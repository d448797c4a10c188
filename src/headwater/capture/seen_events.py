"""`SeenEvents`: the event ids that the events table holds around the times being written. Pure.

An id identifies the object and the event's order, not a time. Two encodings of one event can differ by
seconds, and so fall into neighbouring windows. An id is therefore searched in its own window of ten minutes
and in the windows before and after it.

An append without an index costs a third of an upsert. Deduplication, the benefit of an upsert, happens here
before the write: docs/decisions/0001-events-table.md.
"""

import tempfile
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

import numpy as np
import numpy.typing as npt

WINDOW_SECONDS = 600

LoadIds = Callable[[Collection[int]], Iterable[tuple[int, str]]]
"""The stored ids of some windows: pieces of a window's number and any number of ids (32 hex digits each)."""

_ID = np.dtype("S16")
_Run = npt.NDArray[np.bytes_]
_RECENT_LIMIT = 10_000
_IN_MEMORY = 250_000
"""The largest run, in ids, that is not in a file."""
_SLICES = np.array([bytes([first]) for first in range(1, 256)], dtype=_ID)


def find_window(moment: datetime) -> int:
    """Return the number of the window of an aware time, counted from 1970."""
    return int(moment.timestamp() // WINDOW_SECONDS)


class SeenEvents:
    """Exact membership by 128-bit id, for the `max_windows` most recently used windows.

    Takes 16 bytes per event; more than a few megabytes of a window are in an unnamed temporary file, which
    the operating system keeps in memory as far as there is room.
    """

    def __init__(self, load_ids: LoadIds, max_windows: int = 32) -> None:
        self._load_ids = load_ids
        self._max_windows = max_windows
        self._windows: OrderedDict[int, _Ids] = OrderedDict()

    def keep_new(self, ids: Sequence[tuple[int, str]]) -> list[bool]:
        """Return for each (window, event id) whether it is new. Remembers nothing; see `add`."""
        known: set[str] = set()
        wanted = _by_window(ids)
        loaded = self._load({near for window in wanted for near in _near(window)})
        for window, found in wanted.items():
            for near in _near(window):
                known |= loaded[near].find(found)
        result = []
        for _, event_id in ids:
            result.append(event_id not in known)
            known.add(event_id)
        return result

    def add(self, ids: Sequence[tuple[int, str]]) -> None:
        """Remember ids whose commit has completed."""
        added = _by_window(ids)
        for window, known in self._load(set(added)).items():
            known.add(added[window])
        for window, known in self._windows.items():
            if window not in added:
                # As text, the ids of past windows would take eight times as much memory for hours.
                known.pack()

    def forget(self) -> None:
        """Drop everything: another writer wrote to the table."""
        self._windows.clear()

    def _load(self, windows: Collection[int]) -> dict[int, "_Ids"]:
        missing = {window: _Ids() for window in sorted(windows) if window not in self._windows}
        if missing:
            for window, ids in self._load_ids(list(missing)):
                missing[window].add_run(np.sort(_pack(ids)))
            self._windows |= missing
        found = {window: self._windows[window] for window in windows}
        for window in sorted(windows):
            self._windows.move_to_end(window)
        while len(self._windows) > self._max_windows:
            self._windows.popitem(last=False)
        return found


def _near(window: int) -> tuple[int, int, int]:
    return window - 1, window, window + 1


class _Ids:
    """Sorted runs of ids, the largest first, and a set of the newest ids.

    A run is merged with the one before it once it is half as long, so that an id is copied a few times only,
    however many there are.
    """

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        self._recent: set[str] = set()

    def find(self, ids: Sequence[str]) -> set[str]:
        """Return those of `ids` that are known."""
        # In order, the searches of neighbours touch the same memory.
        ids = sorted(ids)
        wanted = _pack("".join(ids))
        is_known = np.zeros(len(wanted), dtype=bool)
        for run in self._runs:
            at = np.searchsorted(run, wanted)
            inside = at < len(run)
            is_known[inside] |= run[at[inside]] == wanted[inside]
        return {ids[index] for index in np.flatnonzero(is_known).tolist()} | self._recent.intersection(ids)

    def add(self, ids: Iterable[str]) -> None:
        """Remember `ids`."""
        self._recent.update(ids)
        if len(self._recent) > _RECENT_LIMIT:
            self.pack()

    def pack(self) -> None:
        """Take less memory for the ids added so far."""
        if self._recent:
            self.add_run(np.sort(_pack("".join(self._recent))))
            self._recent = set()

    def add_run(self, run: _Run) -> None:
        """Remember sorted ids."""
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            run = _merge(self._runs.pop(), run)
        self._runs.append(run)


def _merge(left: _Run, right: _Run) -> _Run:
    """Return the sorted ids of two runs, in a file if there are many; in constant memory."""
    size = len(left) + len(right)
    if size <= _IN_MEMORY:
        return _merge_in_memory(left, right)
    merged = _create_file(size)
    at = 0
    for some, others in zip(_slice(left), _slice(right), strict=True):
        piece = _merge_in_memory(some, others)
        merged[at : at + len(piece)] = piece
        at += len(piece)
    return merged


def _merge_in_memory(left: _Run, right: _Run) -> _Run:
    # Stable sorting detects the two sorted parts, and only merges them.
    return np.sort(np.concatenate([left, right]), kind="stable")


def _slice(run: _Run) -> list[_Run]:
    """Return the ids of a run by their first byte."""
    return np.split(run, np.searchsorted(run, _SLICES))


def _create_file(size: int) -> _Run:
    with tempfile.TemporaryFile(prefix="headwater-ids-") as file:
        return np.memmap(file, dtype=_ID, mode="w+", shape=(size,))


def _by_window(ids: Iterable[tuple[int, str]]) -> dict[int, list[str]]:
    found: defaultdict[int, list[str]] = defaultdict(list)
    for window, event_id in ids:
        found[window].append(event_id)
    return found


def _pack(ids: str) -> _Run:
    # NumPy pads short byte strings with zeros and compares all 16, so trailing zeros stay exact.
    return np.frombuffer(bytes.fromhex(ids), dtype=_ID)

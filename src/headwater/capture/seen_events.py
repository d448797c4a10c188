"""`SeenEvents`: the event ids that the events table holds around the days being written. Pure.

An id identifies the object and the event's order, not a time. Two encodings of one event can differ by
seconds, and so fall on both sides of midnight. An id is therefore searched in its own day and in the days
before and after it.

An append without an index costs a third of an upsert. Deduplication, the benefit of an upsert, happens here
before the write: docs/decisions/0001-events-table.md.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt

LoadIds = Callable[[Collection[str]], Mapping[str, Iterable[str]]]
"""Stored event ids (32 hex digits) by day; a requested day without ids may be absent."""

_ID = np.dtype("S16")
_RECENT_LIMIT = 20_000


class SeenEvents:
    """Exact membership by 128-bit id: 16 bytes per event, for the `max_days` most recently used days."""

    def __init__(self, load_ids: LoadIds, max_days: int = 16) -> None:
        self._load_ids = load_ids
        self._max_days = max_days
        self._days: OrderedDict[str, _Day] = OrderedDict()

    def keep_new(self, ids: Sequence[tuple[str, str]]) -> list[bool]:
        """Return for each (day, event id) whether it is new. Remembers nothing; see `add`."""
        known: set[str] = set()
        wanted = _by_day(ids)
        loaded = self._load({near for day in wanted for near in _near(day)})
        for day, found in wanted.items():
            for near in _near(day):
                known |= loaded[near].find(found)
        result = []
        for _, event_id in ids:
            result.append(event_id not in known)
            known.add(event_id)
        return result

    def add(self, ids: Sequence[tuple[str, str]]) -> None:
        """Remember ids whose commit has completed."""
        added = _by_day(ids)
        for day, known in self._load(set(added)).items():
            known.add(added[day])

    def forget(self) -> None:
        """Drop everything: another writer wrote to the table."""
        self._days.clear()

    def _load(self, days: Collection[str]) -> dict[str, "_Day"]:
        missing = sorted(day for day in days if day not in self._days)
        if missing:
            stored = self._load_ids(missing)
            self._days |= {day: _Day(stored.get(day, ())) for day in missing}
        found = {day: self._days[day] for day in days}
        for day in sorted(days):
            self._days.move_to_end(day)
        while len(self._days) > self._max_days:
            self._days.popitem(last=False)
        return found


def _near(day: str) -> tuple[str, str, str]:
    at, one = date.fromisoformat(day), timedelta(days=1)
    return (at - one).isoformat(), day, (at + one).isoformat()


class _Day:
    """Sorted runs of ids, the largest first, and a set of the newest ids.

    A run is merged with the one before it once it is half as long, so that an id is copied a few times only,
    however many there are.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        self._runs = [np.sort(_pack(ids))]
        self._recent: set[str] = set()

    def find(self, ids: Sequence[str]) -> set[str]:
        """Return those of `ids` that are known."""
        wanted = _pack(ids)
        is_known = np.zeros(len(wanted), dtype=bool)
        for run in self._runs:
            at = np.searchsorted(run, wanted)
            inside = at < len(run)
            is_known[inside] |= run[at[inside]] == wanted[inside]
        return {ids[index] for index in np.flatnonzero(is_known).tolist()} | self._recent.intersection(ids)

    def add(self, ids: Iterable[str]) -> None:
        """Remember `ids`."""
        self._recent.update(ids)
        if len(self._recent) <= _RECENT_LIMIT:
            return
        run = np.sort(_pack(self._recent))
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            # Stable sorting detects the two sorted parts, and only merges them.
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        self._runs.append(run)
        self._recent.clear()


def _by_day(ids: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for day, event_id in ids:
        found[day].append(event_id)
    return found


def _pack(ids: Iterable[str]) -> npt.NDArray[np.bytes_]:
    # NumPy pads short byte strings with zeros and compares all 16, so trailing zeros stay exact.
    return np.frombuffer(bytes.fromhex("".join(ids)), dtype=_ID)

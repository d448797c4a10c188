"""`SeenEvents`: which event ids the events table already holds, for the days being written. Pure.

An append without an index costs a third of an upsert; what an upsert would have bought, "the same
event twice is one row", is decided here before the write: docs/decisions/0001-events-table.md.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

LoadIds = Callable[[str], Iterable[str]]
"""Event ids (32 hex digits) already stored for a day."""

_RECENT_LIMIT = 20_000


class SeenEvents:
    """Exact membership by 128-bit id: 16 bytes an event, for the `max_days` days used last."""

    def __init__(self, load_ids: LoadIds, max_days: int = 16) -> None:
        self._load_ids = load_ids
        self._max_days = max_days
        self._days: OrderedDict[str, _Day] = OrderedDict()

    def keep_new(self, ids: Iterable[tuple[str, str]]) -> list[bool]:
        """For each (day, event id): whether it is new. Marks nothing; see `add`."""
        batch: set[str] = set()
        result = []
        for day, event_id in ids:
            is_new = event_id not in batch and event_id not in self._day(day)
            batch.add(event_id)
            result.append(is_new)
        return result

    def add(self, ids: Iterable[tuple[str, str]]) -> None:
        """Remember ids whose commit has completed."""
        for day, event_id in ids:
            self._day(day).add(event_id)

    def forget(self) -> None:
        """Drop everything: somebody else wrote to the table."""
        self._days.clear()

    def _day(self, day: str) -> "_Day":
        found = self._days.get(day)
        if found is None:
            found = self._days[day] = _Day(self._load_ids(day))
            while len(self._days) > self._max_days:
                self._days.popitem(last=False)
        self._days.move_to_end(day)
        return found


class _Day:
    def __init__(self, ids: Iterable[str]) -> None:
        self._sorted = _sort(ids)
        self._recent: set[bytes] = set()

    def __contains__(self, event_id: str) -> bool:
        packed = bytes.fromhex(event_id)
        if packed in self._recent:
            return True
        wanted = np.frombuffer(packed, dtype=">u8")
        return _contains(self._sorted, int(wanted[0]), int(wanted[1]))

    def add(self, event_id: str) -> None:
        self._recent.add(bytes.fromhex(event_id))
        if len(self._recent) > _RECENT_LIMIT:
            merged = np.concatenate([self._sorted, _pack(self._recent)])
            self._sorted = np.sort(merged, order=("high", "low"))
            self._recent.clear()


_ID = np.dtype([("high", ">u8"), ("low", ">u8")])


def _pack(ids: Iterable[bytes]) -> npt.NDArray[np.void]:
    return np.frombuffer(b"".join(ids), dtype=_ID)


def _sort(ids: Iterable[str]) -> npt.NDArray[np.void]:
    return np.sort(_pack(bytes.fromhex(event_id) for event_id in ids), order=("high", "low"))


def _contains(ids: npt.NDArray[np.void], high: int, low: int) -> bool:
    at = int(np.searchsorted(ids["high"], high, side="left"))
    while at < len(ids) and int(ids["high"][at]) == high:
        if int(ids["low"][at]) == low:
            return True
        at += 1
    return False

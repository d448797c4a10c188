"""Divides events among the tables of a process by the beginnings of their keys, in one pass for all. Pure.

Each table reads every commit of the events table, and most of the events concern other tables. What a table
gets here may still be of another one: its own rules decide.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from headwater.capture.control_events import RETRACT_EVENT
from headwater.capture.stored_event import StoredEvent


class Division:
    """The beginnings of the keys that the tables of a process read, in the buckets of its sources."""

    def __init__(self, buckets: Iterable[str], beginnings: Iterable[str]) -> None:
        self._buckets = frozenset(buckets)
        self.beginnings = frozenset(beginnings)
        by_length: defaultdict[int, set[str]] = defaultdict(set)
        for beginning in self.beginnings:
            by_length[len(beginning)].add(beginning)
        self._by_length = sorted(by_length.items())

    def find_shares(self, events: Sequence[StoredEvent]) -> tuple[dict[str, list[int]], list[int]]:
        """Return the indexes of the events by the beginnings of their keys, and of those for every table.

        Every table counts events of other buckets, and decides about retractions, whose keys its rules
        exclude.
        """
        shares: defaultdict[str, list[int]] = defaultdict(list)
        for_all: list[int] = []
        for at, stored in enumerate(events):
            event = stored.event
            if event.bucket not in self._buckets or event.event_name == RETRACT_EVENT:
                for_all.append(at)
                continue
            key = event.key
            for length, beginnings in self._by_length:
                beginning = key[:length]
                if beginning in beginnings:
                    shares[beginning].append(at)
        return dict(shares), for_all


class DividedEvents:
    """The events of one commit in their order, divided when the first table asks for its own."""

    def __init__(self, events: Sequence[StoredEvent], division: Division | None = None) -> None:
        self.events = events
        self._division = division

    @cached_property
    def _shares(self) -> tuple[dict[str, list[int]], list[int]]:
        return self._division.find_shares(self.events) if self._division else ({}, [])

    def select(self, beginnings: Collection[str] | None) -> Sequence[StoredEvent]:
        """Return the events that may be of a table whose keys begin with one of these, in their order.

        All of them for None, and for a table that the division does not know.
        """
        if (
            self._division is None
            or beginnings is None
            or not self._division.beginnings.issuperset(beginnings)
        ):
            return self.events
        shares, for_all = self._shares
        found = [shares[beginning] for beginning in beginnings if beginning in shares]
        if for_all:
            found.append(for_all)
        if len(found) == 1:
            return [self.events[at] for at in found[0]]
        return [self.events[at] for at in sorted(set().union(*found))]

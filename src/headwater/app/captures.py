"""Capture of all sources of a run: one consumer for each queue."""

import threading
from datetime import datetime

from headwater.app.application import App
from headwater.app.capture import Capture, CaptureParts
from headwater.app.scope import group_by_queue, label_source, locate
from headwater.capture.consumer import CaptureStats, sum_stats
from headwater.capture.events_table import EventsTable
from headwater.config.source import SourceConfig
from headwater.errors import SourceError


class Captures:
    """Runs the consumers of all queues, each in its own thread. One that fails ends all."""

    def __init__(self, app: App, parts: CaptureParts) -> None:
        self._captures = [
            Capture(app, sources, parts, label_source(app.settings, sources[0]))
            for sources in group_by_queue(app.settings.sources)
        ]

    @property
    def failure(self) -> Exception | None:
        """The error that ended a consumer, if any."""
        return next((one.failure for one in self._captures if one.failure is not None), None)

    @property
    def incomplete(self) -> SourceError | None:
        """Why a run that ends by itself could not capture everything, if anything was left out."""
        return next((one.incomplete for one in self._captures if one.incomplete is not None), None)

    @property
    def stats(self) -> CaptureStats:
        """Return what all consumers have done so far."""
        return sum_stats([one.stats for one in self._captures])

    def start(self, stop: threading.Event, ended: threading.Event, *, once: bool) -> None:
        """Start receiving; set `ended` when all consumers have ended, or one has failed."""
        lock, running = threading.Lock(), len(self._captures)

        def note_end() -> None:
            nonlocal running
            with lock:
                running -= 1
                if self.failure is not None:
                    stop.set()
                if not running or stop.is_set():
                    ended.set()

        for one in self._captures:
            one.start(stop, note_end, once=once)

    def feed(self, events: EventsTable) -> None:
        """Announce the files of each folder that are missing from the events table, then every change."""
        for one in self._captures:
            one.feed(events)

    def note_busy(self, busy: int, tables: int) -> None:
        """Record how many of the tables are working on a batch; this decides how soon events are
        committed."""
        for one in self._captures:
            one.note_busy(busy, tables)

    @property
    def in_flight_ratio(self) -> float:
        """Return the highest share of messages received and not yet deleted among the queues."""
        return max(one.in_flight_ratio for one in self._captures)

    def is_waiting(self) -> bool:
        """True if capture holds no message, and has announced the existing files of each folder."""
        return all(one.is_waiting() for one in self._captures)

    def read_queue_depth(self) -> int | None:
        """Return the approximate number of waiting messages; None when no queue reports it."""
        depths = [one.read_queue_depth() for one in self._captures]
        known = [depth for depth in depths if depth is not None]
        return sum(known) if known else None

    def is_drained(self, source: SourceConfig) -> bool:
        """True if nothing about the source's objects waits or is being committed; False while unknown."""
        return all(one.is_drained() for one in self._list_of(source))

    def find_captured_until(self, source: SourceConfig) -> datetime | None:
        """Return the time up to which everything sent about the source's objects is in the events table; None
        while unknown."""
        times = [one.find_captured_until() for one in self._list_of(source)]
        known = [time for time in times if time is not None]
        return min(known) if len(known) == len(times) else None

    def _list_of(self, source: SourceConfig) -> list[Capture]:
        # Several sources may have the same objects, with a queue each.
        return [
            one for one in self._captures if any(locate(source) == locate(other) for other in one.sources)
        ]

    def join(self, timeout: float) -> None:
        """Wait until the threads have ended."""
        for one in self._captures:
            one.join(timeout)

    @property
    def has_ended(self) -> bool:
        """True if no thread works any more."""
        return all(one.has_ended for one in self._captures)

    def close(self) -> None:
        """Release the queues, whose depth can be asked until then."""
        for one in self._captures:
            one.close()

"""Capture of one queue as a thread of a run: the consumer, and for folders and topics what feeds it."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Protocol

from headwater.app.application import App
from headwater.capture.announced_files import read_announced_files
from headwater.capture.announced_ranges import read_captured_ranges
from headwater.capture.consumer import CaptureStats, CommitReport, Consumer, build_options
from headwater.capture.consumer.committer import AppendEvents, AppendQuarantine
from headwater.capture.events_table import EventsTable
from headwater.config.source import SourceConfig
from headwater.errors import SourceError
from headwater.observability.metrics import Metrics
from headwater.observability.part_board import PartBoard
from headwater.observability.tracing.traces import Traces
from headwater.sources.local.folder_watcher import FolderWatcher
from headwater.sources.memory.queue import MemoryQueue
from headwater.sources.registry import build_queue

# What is watched, by the source's type.
_WATCHED = {"local": "folder", "kafka": "topics"}
# The longest poll takes 60 seconds, and describes the queue at its start.
_RECENT = timedelta(seconds=90)


class Watcher(Protocol):
    """Announces to the queue of this process what a source has, and what changes.

    `incomplete` is why it could not announce everything at the start, if anything was left out.
    """

    incomplete: SourceError | None

    def announce_existing(self, stop: threading.Event) -> int:
        """Announce what is not in the events table; return the number of messages."""
        ...

    def run(self, stop: threading.Event) -> None:
        """Announce changes until `stop` is set."""
        ...


@dataclass(frozen=True, slots=True)
class CaptureParts:
    """What the consumers of a run have in common."""

    append_events: AppendEvents
    append_quarantine: AppendQuarantine
    on_commit: Callable[[CommitReport], None]
    metrics: Metrics | None
    board: PartBoard
    traces: Traces


class Capture:
    """Runs the consumer of one queue in its own thread. `failure` is the error that ended it, if any.

    `sources` have the queue in common; a folder or a cluster has one of its own. `label` names them among
    several queues. `incomplete` is why a run that ends by itself could not capture everything.
    """

    def __init__(
        self, app: App, sources: Sequence[SourceConfig], parts: CaptureParts, label: str = ""
    ) -> None:
        source, suffix = sources[0], f".{label}" if label else ""
        self.sources = sources
        self._source = source
        self._queue = build_queue(source)
        self._consumer = Consumer(
            self._queue,
            parts.append_events,
            parts.append_quarantine,
            build_options(source.queue, app.settings.capture),
            on_commit=parts.on_commit,
            metrics=parts.metrics,
        )
        self._part = parts.board.add(f"capture{suffix}")
        self._watcher_part = (
            parts.board.add(f"capture-{_WATCHED[source.type]}{suffix}") if source.is_watched else None
        )
        self._consumer.report_to(parts.board, suffix)
        self._consumer.trace_to(parts.traces)
        self._threads: list[threading.Thread] = []
        self._stop = threading.Event()
        self._fed = threading.Event()
        self._once = False
        self.failure: Exception | None = None
        self.incomplete: SourceError | None = None
        if not source.is_watched:
            self._fed.set()

    @property
    def stats(self) -> CaptureStats:
        """Return what the consumer has done so far."""
        return self._consumer.stats

    def start(self, stop: threading.Event, on_end: Callable[[], None], *, once: bool) -> None:
        """Start receiving; call `on_end` when the consumer ends for any reason."""
        self._stop, self._once = stop, once

        def consume() -> None:
            try:
                with self._part.reporting():
                    self._consume(stop, once=once)
            except Exception as error:
                self.failure = error
            finally:
                on_end()

        self._start_thread(consume, "capture")

    def _consume(self, stop: threading.Event, *, once: bool) -> None:
        if once:
            self._consumer.run_once(stop, is_fed=self._fed.is_set)
        else:
            self._consumer.run(stop)

    def note_busy(self, busy: int, tables: int) -> None:
        """Record how many of the tables are working on a batch; this decides how soon events are
        committed."""
        self._consumer.set_demand("none" if busy == tables else "some" if busy else "all")

    @property
    def in_flight_ratio(self) -> float:
        """Return messages received and not yet deleted, as a share of the cap at which receiving stops."""
        return self._consumer.in_flight_ratio

    def is_waiting(self) -> bool:
        """True if capture holds no message, and has announced the existing files of a folder."""
        return self._fed.is_set() and not self.in_flight_ratio

    def read_queue_depth(self) -> int | None:
        """Return the approximate number of waiting messages; None when the queue does not report it."""
        try:
            depth = self._queue.depth()
        except SourceError:
            return None
        return None if depth is None else depth.visible

    def is_drained(self) -> bool:
        """True if nothing waits in the queue or is being committed; False when the queue cannot be asked."""
        try:
            depth = self._queue.depth()
        except SourceError:
            return False
        if depth is None:
            until = self.find_captured_until()
            return until is not None and datetime.now(timezone.utc) - until < _RECENT
        return not depth.visible and not depth.in_flight

    def find_captured_until(self) -> datetime | None:
        """Return the time up to which everything sent to the queue is in the events table; None while
        unknown.

        Existing files of a folder are sent to the queue first.
        """
        return self._consumer.find_captured_until() if self._fed.is_set() else None

    def feed(self, events: EventsTable) -> None:
        """For a folder or topics: announce what is missing from the events table, then every change."""
        part, watcher = self._watcher_part, self._build_watcher(events)
        if part is None or watcher is None:
            return

        def announce() -> None:
            try:
                with part.reporting():
                    watcher.announce_existing(self._stop)
                    self._fed.set()
                    if self._once:
                        self.incomplete = watcher.incomplete
                    else:
                        watcher.run(self._stop)
            except Exception as error:
                self.failure = error
                self._stop.set()
            finally:
                self._fed.set()

        self._start_thread(announce, "watcher")

    def _report_watcher(self, error: str) -> None:
        if self._watcher_part is not None:
            if error:
                self._watcher_part.retry(error)
            else:
                self._watcher_part.note("running")

    def _build_watcher(self, events: EventsTable) -> Watcher | None:
        source, queue, bucket = self._source, self._queue, self._source.known_location
        if not isinstance(queue, MemoryQueue):
            return None
        if source.type == "local":
            return FolderWatcher(source, read_announced_files(events, bucket), queue, bucket=bucket)
        if source.type == "kafka":
            from headwater.sources.kafka.polling import build_poller

            return build_poller(source, read_captured_ranges(events, bucket), queue, self._report_watcher)
        return None

    def _start_thread(self, target: Callable[[], None], name: str) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def join(self, timeout: float) -> None:
        """Wait until the threads have ended."""
        for thread in self._threads:
            thread.join(timeout)

    @property
    def has_ended(self) -> bool:
        """True if no thread works any more."""
        return not any(thread.is_alive() for thread in self._threads)

    def close(self) -> None:
        """Release the queue, whose depth can be asked until then."""
        self._queue.close()

"""Lineage as part of a run: a thread that reports batches to the collector, concurrently with commits."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import structlog

from headwater.app.components import BackgroundLoop, BatchNote
from headwater.app.lineage.commit_facts import CommitFacts, read_commit_facts
from headwater.config.lineage import LineageConfig
from headwater.config.settings import Settings
from headwater.errors import HeadwaterError
from headwater.lake.layout import find_address
from headwater.observability.metrics import Metrics

if TYPE_CHECKING:
    from headwater.app.lineage.openlineage import Event, EventBuilder, EventSender, Refusal

log = structlog.stdlib.get_logger(__name__)

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
_FLUSH_SECONDS = 10.0
"""How long an ending run waits for events that are still to be sent."""


@dataclass(slots=True)
class _Waiting:
    """A batch not yet reported. Its events are built early: its commit leaves the timeline eventually."""

    note: BatchNote
    events: "list[Event] | None" = None


class LineageLoop(BackgroundLoop):
    """Never delays or fails a batch. While the collector is unresponsive, batches wait; beyond a limit, the
    oldest are dropped with a warning. An ending run waits a few seconds for the rest."""

    is_early = True

    def __init__(
        self,
        settings: Settings,
        config: LineageConfig,
        environ: Mapping[str, str],
        now: Callable[[], datetime],
        metrics: Metrics | None = None,
    ) -> None:
        # The loop needs no session, and also reports a run whose JVM has died.
        super().__init__("lineage", lambda: True)
        self._settings = settings
        self._config = config
        self._environ = environ
        self._now = now
        self._metrics = metrics
        self._waiting: deque[_Waiting] = deque()
        self._changed = threading.Condition()
        self._is_silent = False
        self._dropped = 0
        self._deadline = 0.0

    def on_batch(self, batch: BatchNote) -> None:
        """Record a batch that was committed or failed. Returns at once."""
        if not batch.is_committed and not batch.error:
            return
        with self._changed:
            self._waiting.append(_Waiting(batch))
            oldest = self._waiting.popleft() if self._is_full else None
            self._changed.notify()
        if oldest is not None:
            self._drop(oldest, "too many batches are waiting for the collector")

    @property
    def _is_full(self) -> bool:
        return len(self._waiting) > self._config.max_waiting_batches

    def stop(self) -> None:
        """Send the remaining events for a few seconds, then end."""
        with self._changed:
            self._deadline = time.monotonic() + _FLUSH_SECONDS
            self._stop.set()
            self._changed.notify()
        super().stop()

    def work(self, stop: threading.Event) -> None:
        """Report batches in the order in which they ended."""
        from headwater.app.lineage.openlineage import EventBuilder, EventSender

        builder = EventBuilder(self._settings, self._config, self._now())
        sender = EventSender(self._config, self._environ)
        try:
            self._send_once(sender, builder.build_process_begin(self._now()))
            pause = _FIRST_PAUSE_SECONDS
            while self._wait_for_work(stop):
                self._build_events(builder)
                refusal = self._send_oldest(sender)
                if refusal is None:
                    pause = _FIRST_PAUSE_SECONDS
                    continue
                if stop.is_set():
                    break
                stop.wait(pause)
                pause = min(_LONGEST_PAUSE_SECONDS, 2 * pause)
            self._drop_all()
            self._send_once(sender, builder.build_process_end(self._now()))
        finally:
            sender.close()

    def _wait_for_work(self, stop: threading.Event) -> bool:
        """True if an event is waiting; False when the run ends and all events are sent, or time is up."""
        with self._changed:
            while not self._waiting and not stop.is_set():
                self._changed.wait()
            return bool(self._waiting) and (not stop.is_set() or time.monotonic() < self._deadline)

    def _build_events(self, builder: "EventBuilder") -> None:
        with self._changed:
            new = [waiting for waiting in self._waiting if waiting.events is None]
        for waiting in new:
            waiting.events = builder.build_batch(waiting.note, self._read_facts(waiting.note))

    def _read_facts(self, note: BatchNote) -> CommitFacts | None:
        if note.result is None:
            return None
        try:
            return read_commit_facts(find_address(self._settings, note.table), note.result, self._now())
        except HeadwaterError as error:
            log.warning("lineage columns and sizes unavailable", table=note.table, error=error.message)
            return None

    def _send_oldest(self, sender: "EventSender") -> "Refusal | None":
        """Send the remaining events of the oldest batch. Returns the refusal if a retry may help."""
        with self._changed:
            waiting = self._waiting.popleft()
        table, events = waiting.note.table, waiting.events or []
        while events:
            refusal = sender.send(events[0])
            if refusal is not None and refusal.is_lasting:
                self._drop(waiting, f"rejected by the collector: {refusal.text}")
                return None
            if refusal is not None:
                self._note_silence(refusal)
                with self._changed:
                    self._waiting.appendleft(waiting)
                return refusal
            events.pop(0)
        self._note_answer()
        if self._metrics:
            self._metrics.count("lineage_batches_sent", table=table)
        return None

    def _send_once(self, sender: "EventSender", event: "Event") -> None:
        """Send without a retry: nothing depends on it."""
        if not self._is_silent and (refusal := sender.send(event)):
            self._note_silence(refusal)

    def _note_silence(self, refusal: "Refusal") -> None:
        if not self._is_silent:
            where = self._config.url or str(self._config.file)
            log.warning("lineage collector unavailable; retrying", collector=where, error=refusal.text)
        self.part.retry(refusal.text)
        self._is_silent = True

    def _note_answer(self) -> None:
        if self._is_silent:
            log.info("lineage collector available again", dropped=self._dropped)
        self.part.note("running")
        self._is_silent, self._dropped = False, 0

    def _drop_all(self) -> None:
        with self._changed:
            left = list(self._waiting)
            self._waiting.clear()
        for waiting in left:
            self._drop(waiting, "the run ended before the collector accepted it")

    def _drop(self, waiting: _Waiting, reason: str) -> None:
        self._dropped += 1
        log.warning("lineage of a batch dropped", table=waiting.note.table, reason=reason)
        if self._metrics:
            self._metrics.count("lineage_batches_dropped", table=waiting.note.table)

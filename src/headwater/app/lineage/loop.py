"""Lineage as part of a run: a thread that reports batches to the collector, concurrently with commits."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import structlog

from headwater.app.components import BatchNote, DeliveryLoop
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


@dataclass(slots=True)
class _Waiting:
    """A batch not yet reported. Its events are built early: its commit leaves the timeline eventually."""

    note: BatchNote
    events: "list[Event] | None" = None


class LineageLoop(DeliveryLoop[_Waiting]):
    """Reports each batch that was committed or failed to the collector."""

    def __init__(
        self,
        settings: Settings,
        config: LineageConfig,
        environ: Mapping[str, str],
        now: Callable[[], datetime],
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__("lineage", config.max_waiting_batches)
        self._settings = settings
        self._config = config
        self._environ = environ
        self._now = now
        self._metrics = metrics
        self._is_silent = False
        self._dropped = 0

    def on_batch(self, batch: BatchNote) -> None:
        """Record a batch that was committed or failed. Returns at once."""
        if batch.is_committed or batch.error:
            self.put(_Waiting(batch))

    def work(self, stop: threading.Event) -> None:
        """Report batches in the order in which they ended."""
        from headwater.app.lineage.openlineage import EventBuilder, EventSender

        builder = EventBuilder(self._settings, self._config, self._now())
        sender = EventSender(self._config, self._environ)
        try:
            self._send_once(sender, builder.build_process_begin(self._now()))
            pause = _FIRST_PAUSE_SECONDS
            while self.wait_for_items():
                self._build_events(builder)
                refusal = self._send_oldest(sender)
                if refusal is None:
                    pause = _FIRST_PAUSE_SECONDS
                    continue
                if stop.is_set():
                    break
                stop.wait(pause)
                pause = min(_LONGEST_PAUSE_SECONDS, 2 * pause)
            self.drop_waiting()
            self._send_once(sender, builder.build_process_end(self._now()))
        finally:
            sender.close()

    def _build_events(self, builder: "EventBuilder") -> None:
        for waiting in self.list_waiting():
            if waiting.events is None:
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
        waiting = self.take()
        table, events = waiting.note.table, waiting.events or []
        while events:
            refusal = sender.send(events[0])
            if refusal is not None and refusal.is_lasting:
                self.drop(waiting, f"rejected by the collector: {refusal.text}")
                return None
            if refusal is not None:
                self._note_silence(refusal)
                self.put_back(waiting)
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

    def drop(self, item: _Waiting, reason: str) -> None:
        """Log and count a batch that is not reported."""
        self._dropped += 1
        log.warning("lineage of a batch dropped", table=item.note.table, reason=reason)
        if self._metrics:
            self._metrics.count("lineage_batches_dropped", table=item.note.table)

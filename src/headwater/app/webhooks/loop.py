"""`WebhookLoop`: the thread that delivers documents to one target, concurrently with commits."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime

import structlog
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_delay,
    stop_any,
    stop_when_event_set,
    wait_random_exponential,
)
from tenacity.nap import sleep_using_event

from headwater.app.components import BackgroundLoop, BatchNote
from headwater.app.webhooks.documents import (
    Document,
    Event,
    build_capture_quarantine,
    build_commit,
    build_quarantine,
)
from headwater.app.webhooks.protocol import DeliveryError, Sender
from headwater.app.webhooks.targets import build_sender
from headwater.capture.consumer import CommitReport
from headwater.config.settings import Settings
from headwater.config.webhooks import WebhooksConfig
from headwater.observability.metrics import Metrics

log = structlog.stdlib.get_logger(__name__)

_LONGEST_PAUSE_SECONDS = 60.0
_FLUSH_SECONDS = 10.0
"""How long an ending run waits for documents that are still to be sent."""


class WebhookLoop(BackgroundLoop):
    """Never delays or fails a batch. Documents wait while the target is unavailable; beyond a limit, the
    oldest are dropped with a warning. An ending run waits a few seconds for the rest."""

    is_early = True

    def __init__(
        self,
        name: str,
        lake: str,
        config: WebhooksConfig,
        events: frozenset[Event],
        sender: Sender,
        now: Callable[[], datetime],
        metrics: Metrics | None = None,
    ) -> None:
        # The loop needs no session, and also reports a run whose JVM has died.
        super().__init__(name, lambda: True)
        self._lake = lake
        self._config = config
        self._events = events
        self._sender = sender
        self._now = now
        self._metrics = metrics
        self._waiting: deque[Document] = deque()
        self._changed = threading.Condition()
        self._deadline = 0.0

    def on_batch(self, batch: BatchNote) -> None:
        """Queue the documents of a batch. Returns at once."""
        self._queue(build_commit(batch, self._lake))
        self._queue(build_quarantine(batch, self._lake))

    def on_capture(self, report: CommitReport) -> None:
        """Queue the document of quarantined messages. Returns at once."""
        self._queue(build_capture_quarantine(report, self._lake, self._now().isoformat()))

    def _queue(self, document: Document | None) -> None:
        if document is None or document.event not in self._events:
            return
        with self._changed:
            self._waiting.append(document)
            is_full = len(self._waiting) > self._config.max_waiting
            oldest = self._waiting.popleft() if is_full else None
            self._changed.notify()
        if oldest is not None:
            self._drop(oldest, "too many documents are waiting for the target")

    def stop(self) -> None:
        """Send the remaining documents for a few seconds, then end."""
        with self._changed:
            self._deadline = time.monotonic() + _FLUSH_SECONDS
            self._stop.set()
            self._changed.notify()
        super().stop()

    def work(self, stop: threading.Event) -> None:
        """Deliver documents in the order in which they were queued."""
        while (document := self._take(stop)) is not None:
            try:
                self._build_retrying(stop)(self._sender.send, document)
            except DeliveryError as error:
                self.part.retry(str(error))
                self._drop(document, str(error))
            else:
                self.part.note("running")
                if self._metrics:
                    self._metrics.count("webhooks_sent", webhook=self.name, event=document.event)
        with self._changed:
            left = list(self._waiting)
            self._waiting.clear()
        for document in left:
            self._drop(document, "the run ended before the target accepted it")

    def _take(self, stop: threading.Event) -> Document | None:
        """Return the next document; None when the run ends and all are sent, or time is up."""
        with self._changed:
            while not self._waiting and not stop.is_set():
                self._changed.wait()
            is_late = stop.is_set() and time.monotonic() >= self._deadline
            return None if is_late or not self._waiting else self._waiting.popleft()

    def _build_retrying(self, stop: threading.Event) -> Retrying:
        return Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, DeliveryError) and not error.is_lasting),
            # An ending run tries each document once more.
            stop=stop_any(stop_after_delay(self._config.retry_for), stop_when_event_set(stop)),
            wait=wait_random_exponential(multiplier=1, max=_LONGEST_PAUSE_SECONDS),
            sleep=sleep_using_event(stop),
            before_sleep=self._note_attempt,
            reraise=True,
        )

    def _note_attempt(self, state: RetryCallState) -> None:
        error = str(state.outcome and state.outcome.exception())
        if state.attempt_number == 1:
            log.warning("webhook delivery failed; retrying", webhook=self.name, error=error)
        self.part.retry(error)

    def _drop(self, document: Document, reason: str) -> None:
        log.warning("webhook document dropped", webhook=self.name, document=document.event, reason=reason)
        if self._metrics:
            self._metrics.count("webhooks_dropped", webhook=self.name, event=document.event)


def build_webhooks(
    settings: Settings,
    environ: Mapping[str, str],
    now: Callable[[], datetime],
    metrics: Metrics | None = None,
) -> list[WebhookLoop]:
    """Build a loop for each target: one that does not answer delays no other."""
    config = settings.webhooks
    events: dict[str, set[Event]] = {}
    for target in config.on_commit:
        events.setdefault(target, set()).add("commit")
    for target in config.on_quarantine:
        events.setdefault(target, set()).add("quarantine")
    return [
        WebhookLoop(
            f"webhook-{number}",
            settings.lake,
            config,
            frozenset(wanted),
            build_sender(target, config, environ),
            now,
            metrics,
        )
        for number, (target, wanted) in enumerate(events.items(), 1)
    ]

"""`WebhookLoop`: the thread that delivers documents to one target, concurrently with commits."""

import threading
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

from headwater.app.components import BatchNote, DeliveryLoop
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


class WebhookLoop(DeliveryLoop[Document]):
    """Delivers a document for each commit and for quarantined data, as far as the target wants them."""

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
        super().__init__(name, config.max_waiting)
        self._lake = lake
        self._config = config
        self._events = events
        self._sender = sender
        self._now = now
        self._metrics = metrics

    def on_batch(self, batch: BatchNote) -> None:
        """Queue the documents of a batch. Returns at once."""
        self._queue(build_commit(batch, self._lake))
        self._queue(build_quarantine(batch, self._lake))

    def on_capture(self, report: CommitReport) -> None:
        """Queue the document of quarantined messages. Returns at once."""
        self._queue(build_capture_quarantine(report, self._lake, self._now().isoformat()))

    def _queue(self, document: Document | None) -> None:
        if document is not None and document.event in self._events:
            self.put(document)

    def work(self, stop: threading.Event) -> None:
        """Deliver documents in the order in which they were queued."""
        while self.wait_for_items():
            document = self.take()
            try:
                self._build_retrying(stop)(self._sender.send, document)
            except DeliveryError as error:
                self.part.retry(str(error))
                self.drop(document, str(error))
            else:
                self.part.note("running")
                if self._metrics:
                    self._metrics.count("webhooks_sent", webhook=self.name, event=document.event)
        self.drop_waiting()

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

    def drop(self, item: Document, reason: str) -> None:
        """Log and count a document that is not delivered."""
        log.warning("webhook document dropped", webhook=self.name, document=item.event, reason=reason)
        if self._metrics:
            self._metrics.count("webhooks_dropped", webhook=self.name, event=item.event)


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

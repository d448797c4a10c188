"""`Tracing`: the part of a run that sends its traces."""

from collections.abc import Callable

import structlog

from headwater.app.components import Component
from headwater.config.observability import TRACES_PATH, TracingConfig
from headwater.config.settings import Settings
from headwater.errors import ConfigError
from headwater.observability.metrics import Metrics
from headwater.observability.redaction import redact_text
from headwater.observability.tracing.protocol import Tracer
from headwater.observability.tracing.traces import Traces
from headwater.version import __version__

log = structlog.stdlib.get_logger(__name__)

_FLUSH_SECONDS = 5.0
"""How long an ending run waits for spans that are still to be sent; `stop_timeout` must leave time for it."""

OnExport = Callable[[int, str], None]


class Tracing(Component):
    """Owns the tracer: reports what becomes of its spans, and sends the last ones at the end of the run.

    `build` returns the tracer, which reports each request to its argument; see `OnExport`.
    """

    is_early = True

    def __init__(self, build: Callable[[OnExport], Tracer], metrics: Metrics | None = None) -> None:
        super().__init__("tracing")
        self._metrics = metrics
        self._is_silent = False
        self._has_warned = False
        self._dropped = 0
        self._tracer: Tracer | None = build(self._note_export)
        self.traces = Traces(self._tracer)

    def start(self) -> None:
        """Note that spans are sent from now on; nothing is left to start."""
        self.part.note("running")

    def stop(self) -> None:
        """Send the remaining spans for a few seconds, then end."""
        tracer, self._tracer = self._tracer, None
        if tracer is None:
            return
        if not tracer.close(_FLUSH_SECONDS):
            log.warning("last traces not sent: the collector did not respond in time", seconds=_FLUSH_SECONDS)
        self.part.note("stopped")

    def _note_export(self, spans: int, error: str) -> None:
        if not spans:
            self._warn(error)
        elif error:
            self._note_failure(spans, redact_text(error))
        else:
            self._note_success(spans)

    def _warn(self, text: str) -> None:
        """Log the first warning of the SDK that is not about a request."""
        if not self._has_warned:
            self._has_warned = True
            hint = "if the queue is full, raise OTEL_BSP_MAX_QUEUE_SIZE, or lower `sample_ratio`"
            log.warning("traces incomplete", reason=redact_text(text), hint=hint)

    def _note_failure(self, spans: int, error: str) -> None:
        if not self._is_silent:
            log.warning("trace collector unavailable; dropping traces", error=error)
        self.part.retry(error)
        self._is_silent = True
        self._dropped += spans
        if self._metrics:
            self._metrics.count("trace_spans_dropped", spans)

    def _note_success(self, spans: int) -> None:
        if self._is_silent:
            log.info("trace collector available again", dropped_spans=self._dropped)
            self.part.note("running")
        self._is_silent, self._dropped = False, 0
        if self._metrics:
            self._metrics.count("trace_spans_sent", spans)


def build_tracing(settings: Settings, metrics: Metrics | None = None) -> Tracing | None:
    """Build the part that sends traces; None if none is configured. Raises `ConfigError`."""
    config = settings.observability.tracing
    return None if config is None else Tracing(lambda on_export: _build_tracer(config, on_export), metrics)


def _build_tracer(config: TracingConfig, on_export: OnExport) -> Tracer:
    # The SDK is an extra, and a run without traces must not need it.
    from headwater.observability.tracing.opentelemetry import OpenTelemetryTracer

    endpoint = None if config.endpoint is None else f"{config.endpoint}{TRACES_PATH}"
    try:
        return OpenTelemetryTracer(__version__, on_export, endpoint=endpoint, ratio=config.sample_ratio)
    except ValueError as error:
        raise ConfigError(
            f"observability.tracing: invalid value in the environment: {error}",
            hint="correct the variables whose names start with OTEL_",
        ) from error

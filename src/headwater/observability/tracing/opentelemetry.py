"""Sends traces to a collector by OTLP over HTTP. The only file that imports OpenTelemetry.

The SDK reads its `OTEL_*` variables from the environment of the process. Arguments take precedence.
"""

import logging
import threading
from collections.abc import Callable, Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span as SdkSpan
from opentelemetry.trace import StatusCode, set_span_in_context
from opentelemetry.trace import Tracer as SdkTracer

from headwater.observability.tracing.protocol import AttributeValue, Span

_NAME = "headwater"
_LIBRARY_LOG = "opentelemetry"

OnExport = Callable[[int, str], None]
"""Receives the number of spans of a request, and why they did not arrive; empty if they did. With 0 spans, a
warning of the SDK before the request, such as a full queue. Called by the exporter's thread."""


class OpenTelemetryTracer:
    """See `Tracer`. Waiting spans are sent every few seconds; beyond `OTEL_BSP_MAX_QUEUE_SIZE`, the oldest
    are dropped."""

    def __init__(
        self, version: str, on_export: OnExport, *, endpoint: str | None = None, ratio: float | None = None
    ) -> None:
        """Use the collector that receives spans at the URL `endpoint`, and a share of `ratio` of all traces.

        `version` is that of headwater. Without an argument, the environment's value is used. Raises
        `ValueError` for invalid values in the environment.
        """
        self._log = _LibraryLog()
        exporter = _ReportingExporter(OTLPSpanExporter(endpoint=endpoint), self._log, on_export)
        sampler = None if ratio is None else ParentBased(TraceIdRatioBased(ratio))
        resource = Resource.create({"service.name": _NAME, "service.version": version})
        self._provider = TracerProvider(
            sampler, resource.merge(OTELResourceDetector().detect()), shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer(_NAME, version)
        self._log.attach()

    def start(self, name: str, began: int) -> "OpenTelemetrySpan":
        """See `Tracer.start`."""
        return OpenTelemetrySpan(self._tracer, self._tracer.start_span(name, start_time=began))

    def close(self, seconds: float) -> bool:
        """See `Tracer.close`."""
        # The SDK waits for 30 seconds, and a request that it has begun for longer.
        closing = threading.Thread(target=self._provider.shutdown, name="tracing-close", daemon=True)
        closing.start()
        closing.join(seconds)
        if closing.is_alive():
            return False
        self._log.detach()
        return True


class OpenTelemetrySpan:
    """See `Span`."""

    def __init__(self, tracer: SdkTracer, span: SdkSpan) -> None:
        self._tracer = tracer
        self._span = span
        self.context = span.get_span_context()

    @property
    def trace_id(self) -> str:
        """See `Span.trace_id`."""
        return f"{self.context.trace_id:032x}" if self.context.is_valid else ""

    @property
    def span_id(self) -> str:
        """See `Span.span_id`."""
        return f"{self.context.span_id:016x}" if self.context.is_valid else ""

    @property
    def is_recorded(self) -> bool:
        """See `Span.is_recorded`."""
        return self.context.trace_flags.sampled

    def start_child(self, name: str, began: int) -> "OpenTelemetrySpan":
        """See `Span.start_child`."""
        parent = set_span_in_context(self._span)
        return OpenTelemetrySpan(self._tracer, self._tracer.start_span(name, parent, start_time=began))

    def set(self, name: str, value: AttributeValue) -> None:
        """See `Span.set`."""
        if self._span.is_recording():
            self._span.set_attribute(f"{_NAME}.{name}", value)

    def link(self, other: Span) -> None:
        """See `Span.link`."""
        if self._span.is_recording() and isinstance(other, OpenTelemetrySpan) and other.is_recorded:
            self._span.add_link(other.context)

    def fail(self, kind: str, message: str) -> None:
        """See `Span.fail`."""
        if self._span.is_recording():
            # Not `record_exception`: the traceback may contain secrets.
            self._span.add_event("exception", {"exception.type": kind, "exception.message": message})
            self._span.set_status(StatusCode.ERROR, message)

    def end(self, ended: int) -> None:
        """See `Span.end`."""
        if self._span.is_recording():
            self._span.end(ended)


class _ReportingExporter(SpanExporter):
    """Reports what becomes of each request."""

    def __init__(self, exporter: SpanExporter, log: "_LibraryLog", on_export: OnExport) -> None:
        self._exporter = exporter
        self._log = log
        self._on_export = on_export

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans, with the SDK's retries; never raises."""
        if warning := self._log.take():
            self._on_export(0, warning)
        try:
            result = self._exporter.export(spans)
        except Exception as error:
            self._on_export(len(spans), f"{type(error).__name__}: {error}")
            return SpanExportResult.FAILURE
        has_arrived = result is SpanExportResult.SUCCESS
        self._on_export(len(spans), "" if has_arrived else self._log.take() or "the request failed")
        return result

    def shutdown(self) -> None:
        """End the connection, and retries."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Return at once: nothing is buffered here."""
        return self._exporter.force_flush(timeout_millis)


class _LibraryLog(logging.Handler):
    """Keeps the SDK's warnings out of the log, which has one line per outage: it is the only place where the
    SDK says why a request failed."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._texts: list[str] = []

    def attach(self) -> None:
        """Receive the warnings, instead of the root logger."""
        logger = logging.getLogger(_LIBRARY_LOG)
        logger.addHandler(self)
        logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first text, which has the cause; the next ones are about retries."""
        if not self._texts:
            self._texts.append(record.getMessage())

    def take(self) -> str:
        """Return the text kept since the last call, if any."""
        texts, self._texts = self._texts, []
        return texts[0] if texts else ""

    def detach(self) -> None:
        """Leave the warnings to the root logger again, unless another tracer is open.

        Not `close`, which `logging.config` calls for every handler of the process.
        """
        logger = logging.getLogger(_LIBRARY_LOG)
        logger.removeHandler(self)
        logger.propagate = not any(isinstance(one, _LibraryLog) for one in logger.handlers)
        self.close()

"""`Tracer`: receives the spans of traces. Times are nanoseconds since the epoch."""

from typing import Protocol

AttributeValue = str | bool | int | float


class Span(Protocol):
    """One step. A span that does not end is not reported. Thread-safe; no method blocks or raises."""

    @property
    def trace_id(self) -> str:
        """Return 32 hexadecimal digits, the same for all spans of a trace; empty if the tracer is off."""
        ...

    @property
    def span_id(self) -> str:
        """Return 16 hexadecimal digits; empty if the tracer is off."""
        ...

    @property
    def is_recorded(self) -> bool:
        """False if the trace is not in the sample: nothing of it is reported."""
        ...

    def start_child(self, name: str, began: int) -> "Span":
        """Start a step of this one, which may have ended."""
        ...

    def set(self, name: str, value: AttributeValue) -> None:
        """Set an attribute; `name` is without a prefix."""
        ...

    def link(self, other: "Span") -> None:
        """Record that the step continues the work of a span of another trace."""
        ...

    def fail(self, kind: str, message: str) -> None:
        """Mark the span as failed, with the type and the message of the error."""
        ...

    def end(self, ended: int) -> None:
        """End the span. Only the first call counts."""
        ...


class Tracer(Protocol):
    """Starts traces, and reports their spans in the background."""

    def start(self, name: str, began: int) -> Span:
        """Start a trace with its root span."""
        ...

    def close(self, seconds: float) -> bool:
        """Report all spans that have ended; return False if that takes longer than `seconds`.

        Later spans are dropped.
        """
        ...

"""A tracer that keeps the spans in this process."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from secrets import token_hex

from headwater.observability.tracing.protocol import AttributeValue, Span


class MemoryTracer:
    """See `Tracer`. `spans` are those that have ended, in this order."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended: list[MemorySpan] = []
        self._is_closed = False

    @property
    def spans(self) -> "Sequence[MemorySpan]":
        """Return the spans that have ended."""
        with self._lock:
            return tuple(self._ended)

    def start(self, name: str, began: int) -> "MemorySpan":
        """See `Tracer.start`."""
        return MemorySpan(self, name, began, trace_id=token_hex(16))

    def close(self, seconds: float) -> bool:
        """See `Tracer.close`."""
        del seconds
        self._is_closed = True
        return True

    def keep(self, span: "MemorySpan") -> None:
        """Keep a span that has ended."""
        with self._lock:
            if not self._is_closed:
                self._ended.append(span)


@dataclass(eq=False, slots=True)
class MemorySpan:
    """See `Span`. `error` has type and message; `links` are span ids."""

    tracer: MemoryTracer
    name: str
    began: int
    trace_id: str
    parent_id: str = ""
    span_id: str = field(default_factory=lambda: token_hex(8))
    is_recorded: bool = True
    attributes: dict[str, AttributeValue] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)
    error: tuple[str, str] | None = None
    ended: int | None = None

    def start_child(self, name: str, began: int) -> "MemorySpan":
        """See `Span.start_child`."""
        return MemorySpan(self.tracer, name, began, self.trace_id, self.span_id)

    def set(self, name: str, value: AttributeValue) -> None:
        """See `Span.set`."""
        self.attributes[name] = value

    def link(self, other: "Span") -> None:
        """See `Span.link`."""
        self.links.append(other.span_id)

    def fail(self, kind: str, message: str) -> None:
        """See `Span.fail`."""
        self.error = (kind, message)

    def end(self, ended: int) -> None:
        """See `Span.end`."""
        if self.ended is None:
            self.ended = ended
            self.tracer.keep(self)

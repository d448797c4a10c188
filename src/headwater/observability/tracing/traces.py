"""`Traces`: begins a trace for each batch. `span` and the other functions add to the trace of this thread.

Without a trace they do nothing: a step needs no tracer, and costs nothing in a run without one. The trace is
in the context of `contextvars`: a thread that continues a batch runs in a copy of it.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from headwater.observability.part_board import describe_error, shorten_error
from headwater.observability.tracing.protocol import AttributeValue, Span, Tracer

_KEPT_COMMITS = 1000
"""Newest commits whose spans can be linked to."""


class Traces:
    """The traces of one process; without a tracer there are none. Thread-safe."""

    def __init__(self, tracer: Tracer | None = None) -> None:
        self._tracer = tracer
        self._lock = threading.Lock()
        self._commits: OrderedDict[tuple[str, str], Span] = OrderedDict()
        self._last: dict[str, _Step] = {}

    @contextmanager
    def begin(self, name: str, *, ago: float = 0.0, **attributes: AttributeValue) -> Iterator[None]:
        """Begin a trace that ends with the block. Its root span began `ago` seconds before.

        A trace without any other span, attribute or error is dropped: the batch turned out to be empty.
        """
        if self._tracer is None:
            yield
            return
        root = _Step(self, self._tracer.start(name, _compute_time(ago)))
        for key, value in attributes.items():
            root.span.set(key, value)
        with self._lock:
            self._last.pop(name, None)
        try:
            with _entered(root):
                yield
        finally:
            if root.is_used:
                root.span.end(time.time_ns())
                with self._lock:
                    self._last[name] = root

    @contextmanager
    def resume(self, name: str) -> Iterator[None]:
        """Log in the block with the ids of the last trace of that name, although it has ended.

        Does nothing if that trace was dropped.
        """
        with self._lock:
            root = self._last.get(name)
        token = _current.set(root)
        try:
            yield
        finally:
            _current.reset(token)

    @property
    def is_on(self) -> bool:
        """True if there is a tracer."""
        return self._tracer is not None

    def remember(self, table: str, completed: str, span: Span) -> None:
        """Keep the span that made a commit of a table, for `find`; the newest 1,000 are kept."""
        with self._lock:
            self._commits[table, completed] = span
            if len(self._commits) > _KEPT_COMMITS:
                self._commits.popitem(last=False)

    def find(self, table: str, completed: str) -> Span | None:
        """Return the span that made a commit; None if another process made it, or long ago."""
        with self._lock:
            return self._commits.get((table, completed))


class _Step:
    """A span in progress."""

    def __init__(self, traces: Traces, span: Span) -> None:
        self.traces = traces
        self.span = span
        self.is_used = False


_current: ContextVar[_Step | None] = ContextVar("headwater_step", default=None)


@contextmanager
def span(name: str, **attributes: AttributeValue) -> Iterator[None]:
    """Add the block to the trace as a step. An exception that leaves it is recorded."""
    parent = _current.get()
    if parent is None:
        yield
        return
    step = _start_child(parent, name, 0.0, attributes)
    try:
        with _entered(step):
            yield
    finally:
        step.span.end(time.time_ns())


def record_span(name: str, *, ago: float, ended_ago: float = 0.0, **attributes: AttributeValue) -> None:
    """Add a step that has ended. `ago`, `ended_ago`: seconds since it began, and since it ended."""
    parent = _current.get()
    if parent is not None:
        _start_child(parent, name, ago, attributes).span.end(_compute_time(ended_ago))


def annotate(**attributes: AttributeValue) -> None:
    """Set attributes of the current span."""
    step = _current.get()
    if step is not None:
        step.is_used = True
        for key, value in attributes.items():
            step.span.set(key, value)


def note_failure(kind: str, message: str) -> None:
    """Mark the current span as failed, by an error that is not raised. Secrets are redacted."""
    step = _current.get()
    if step is not None:
        step.is_used = True
        step.span.fail(kind, shorten_error(message))


def note_error(error: Exception) -> None:
    """Mark the current span as failed by an error that is handled here."""
    note_failure(f"{type(error).__module__}.{type(error).__qualname__}", describe_error(error))


def is_traced() -> bool:
    """True if the current span will be reported: its attributes may be worth a read."""
    step = _current.get()
    return step is not None and step.span.is_recorded


def note_commit(table: str, *, instant: str, completed: str) -> None:
    """Record that the current span made a commit, by its Hudi instant and its completion time."""
    step = _current.get()
    if step is not None:
        annotate(instant=instant, completed=completed)
        step.traces.remember(table, completed, step.span)


def link_commits(table: str, completed: Iterable[str]) -> None:
    """Link the current span to the spans of this process that made the commits completed at these times."""
    step = _current.get()
    if step is not None:
        for commit in completed:
            if (found := step.traces.find(table, commit)) is not None:
                step.span.link(found)


def add_trace_ids(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add `trace_id` and `span_id` to a log line within a trace. A processor of structlog."""
    step = _current.get()
    if step is not None and step.is_used and step.span.trace_id:
        event["trace_id"] = step.span.trace_id
        event["span_id"] = step.span.span_id
    return event


@contextmanager
def _entered(step: _Step) -> Iterator[None]:
    token = _current.set(step)
    try:
        yield
    except Exception as error:
        note_error(error)
        raise
    finally:
        _current.reset(token)


def _start_child(parent: _Step, name: str, ago: float, attributes: dict[str, AttributeValue]) -> _Step:
    parent.is_used = True
    child = _Step(parent.traces, parent.span.start_child(name, _compute_time(ago)))
    child.is_used = True
    for key, value in attributes.items():
        child.span.set(key, value)
    return child


def _compute_time(ago: float) -> int:
    """Return the time so many seconds ago, in nanoseconds since the epoch."""
    return time.time_ns() - round(ago * 1e9)

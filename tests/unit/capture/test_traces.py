"""The trace of a batch of capture."""

from collections.abc import Mapping
from typing import Any

import pytest

from headwater.errors import LakeError, SourceError
from headwater.observability.tracing.memory import MemorySpan, MemoryTracer
from headwater.observability.tracing.traces import Traces
from headwater.sources.memory.queue import MemoryQueue
from tests.fixtures.capture import RunningConsumer, Tables, build_consumer, send_keys

ONCE: dict[str, Any] = {"empty_polls": 2, "empty_poll_seconds": 0.05}


def read_number(span: MemorySpan, name: str) -> int:
    value = span.attributes[name]
    assert isinstance(value, int)
    return value


class RefusingQueue(MemoryQueue):
    """Deletes nothing."""

    def ack(self, handles: Mapping[str, str]) -> Mapping[str, str]:
        raise SourceError("the queue is unavailable", hint="wait")


def test_a_batch_of_capture_is_a_trace_from_receipt_to_deletion() -> None:
    queue, tables = MemoryQueue(), Tables()
    queue.send("?")
    send_keys(queue, "a", "b", "a")
    tracer = MemoryTracer()
    consumer = build_consumer(queue, tables, batch_seconds=0.2)
    consumer.trace_to(Traces(tracer))
    consumer.run_once(**ONCE)
    spans: dict[str, list[MemorySpan]] = {}
    for span in tracer.spans:
        spans.setdefault(span.name, []).append(span)
    (root,) = spans.pop("capture")
    assert set(spans) == {"receive", "parse", "commit events", "commit quarantine", "delete"}
    steps = [one for found in spans.values() for one in found]
    assert {(one.trace_id, one.parent_id) for one in steps} == {(root.trace_id, root.span_id)}
    assert all(one.error is None for one in (root, *steps))
    (receive,), (parse,), (events,) = spans["receive"], spans["parse"], spans["commit events"]
    assert root.attributes == {"messages": 4, "events": 2, "quarantined": 1, "duplicates": 1}
    assert receive.attributes == {"messages": 4}
    assert read_number(parse, "characters") > 0
    assert spans["commit quarantine"][0].attributes == {"items": 1}
    assert sum(read_number(one, "messages") for one in spans["delete"]) == 4
    assert receive.ended is not None
    assert parse.ended is not None
    assert root.began == pytest.approx(receive.began, abs=1e7)
    assert parse.ended <= receive.ended <= events.began + 1e7


def test_a_commit_that_fails_is_in_the_trace() -> None:
    queue, tables = MemoryQueue(), Tables()
    tables.failures = [LakeError("disk full", hint="free some")] * 20
    send_keys(queue, "a")
    tracer = MemoryTracer()
    consumer = build_consumer(queue, tables, commit_patience=0.0)
    consumer.trace_to(Traces(tracer))
    with pytest.raises(LakeError):
        consumer.run_once(**ONCE)
    errors = {span.name: span.error for span in tracer.spans}
    assert errors["commit events"] == errors["capture"] == ("headwater.errors.LakeError", "disk full")
    assert "delete" not in errors


def test_a_deletion_that_fails_is_in_the_trace_of_a_batch_that_does_not() -> None:
    queue, tables, tracer = RefusingQueue(), Tables(), MemoryTracer()
    running = RunningConsumer(queue, tables)
    running.consumer.trace_to(Traces(tracer))
    send_keys(queue, "a")
    with running:
        running.wait_for(deletes_failed=1)
    errors = {span.name: span.error for span in tracer.spans}
    assert errors["delete"] == ("message deletion failed", "the queue is unavailable")
    assert errors["capture"] is None

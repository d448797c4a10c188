"""What a run relies on in every tracer: ids, parents, attributes, links, errors, and what is never sent."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from headwater.observability.tracing.memory import MemoryTracer
from headwater.observability.tracing.opentelemetry import OpenTelemetryTracer
from headwater.observability.tracing.protocol import Tracer
from tests.fixtures.servers.trace_collector import run_trace_collector


@dataclass(frozen=True)
class Reported:
    name: str
    ids: tuple[str, str, str]
    times: tuple[int, int]
    attributes: dict[str, object]
    links: list[str]
    error: tuple[str, str] | None


Close = Callable[[], dict[str, Reported]]
"""Closes the tracer; returns what it has reported, by name."""


@contextmanager
def open_memory() -> Iterator[tuple[Tracer, Close]]:
    tracer = MemoryTracer()

    def close() -> dict[str, Reported]:
        assert tracer.close(5)
        return {
            span.name: Reported(
                span.name,
                (span.trace_id, span.parent_id, span.span_id),
                (span.began, span.ended or 0),
                dict(span.attributes),
                span.links,
                span.error,
            )
            for span in tracer.spans
        }

    yield tracer, close


@contextmanager
def open_opentelemetry() -> Iterator[tuple[Tracer, Close]]:
    with run_trace_collector() as collector:
        tracer = OpenTelemetryTracer("1.2", lambda *_: None, endpoint=f"{collector.url}/v1/traces")

        def close() -> dict[str, Reported]:
            assert tracer.close(5)
            return {
                span.name: Reported(
                    span.name,
                    (span.trace_id, span.parent_id, span.span_id),
                    (span.began, span.ended),
                    {name.removeprefix("headwater."): value for name, value in span.attributes.items()},
                    span.links,
                    (str(span.exceptions[0]["exception.type"]), span.message) if span.is_failed else None,
                )
                for span in collector.spans
            }

        yield tracer, close


@pytest.fixture(params=[open_memory, open_opentelemetry], ids=["memory", "opentelemetry"])
def opened(request: pytest.FixtureRequest) -> Iterator[tuple[Tracer, Close]]:
    with request.param() as found:
        yield found


def test_a_trace_is_reported_as_a_tree(opened: tuple[Tracer, Close]) -> None:
    tracer, close = opened
    root = tracer.start("root", 1_000)
    root.set("table", "orders")
    child = root.start_child("child", 2_000)
    child.set("rows", 3)
    child.set("seconds", 0.5)
    child.set("committed", True)
    grandchild = child.start_child("grandchild", 3_000)
    grandchild.end(4_000)
    child.end(5_000)
    root.end(6_000)
    found = close()
    assert list(found) == ["grandchild", "child", "root"]
    assert len(root.trace_id) == 32
    assert {one.ids[0] for one in found.values()} == {root.trace_id}
    assert [found[name].ids[1:] for name in ("root", "child", "grandchild")] == [
        ("", root.span_id),
        (root.span_id, child.span_id),
        (child.span_id, grandchild.span_id),
    ]
    assert found["child"].times == (2_000, 5_000)
    assert found["root"].attributes == {"table": "orders"}
    assert found["child"].attributes == {"rows": 3, "seconds": 0.5, "committed": True}
    assert root.is_recorded


def test_a_span_links_to_one_of_another_trace(opened: tuple[Tracer, Close]) -> None:
    tracer, close = opened
    first, second = tracer.start("first", 1), tracer.start("second", 2)
    first.end(3)
    second.link(first)
    second.end(4)
    found = close()
    assert first.trace_id != second.trace_id
    assert (found["first"].links, found["second"].links) == ([], [first.span_id])


def test_a_failed_span_says_why(opened: tuple[Tracer, Close]) -> None:
    tracer, close = opened
    span = tracer.start("commit", 1)
    span.fail("headwater.errors.LakeError", "disk full")
    span.end(2)
    assert close()["commit"].error == ("headwater.errors.LakeError", "disk full")


def test_a_span_that_does_not_end_is_not_reported(opened: tuple[Tracer, Close]) -> None:
    tracer, close = opened
    tracer.start("empty", 1)
    late = tracer.start("late", 1)
    tracer.start("batch", 1).end(2)
    assert list(close()) == ["batch"]
    late.end(3)
    assert list(close()) == ["batch"]


def test_a_step_may_begin_after_the_end_of_its_parent_and_only_its_first_end_counts(
    opened: tuple[Tracer, Close],
) -> None:
    tracer, close = opened
    root = tracer.start("capture", 1)
    root.end(2)
    step = root.start_child("delete", 3)
    step.end(4)
    step.end(9)
    root.set("messages", 1)
    found = close()
    assert found["delete"].ids[1] == root.span_id
    assert found["delete"].times == (3, 4)


def test_the_library_stays_silent_when_another_one_configures_the_log() -> None:
    library = logging.getLogger("opentelemetry")
    with open_opentelemetry() as (_, close):
        handlers = list(library.handlers)
        # As `logging.config.dictConfig` does, which uvicorn calls.
        for handler in handlers:
            handler.close()
        assert (library.handlers, library.propagate) == (handlers, False)
        close()
    # Tracers of other tests may still wait for their collectors.
    assert library.handlers == handlers[:-1]

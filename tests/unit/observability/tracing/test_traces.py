"""Traces of batches, kept in memory."""

import json
import logging
import sys
import threading
from contextvars import copy_context

import pytest
import structlog

from headwater.errors import LakeError
from headwater.observability.logging import configure_logging
from headwater.observability.tracing.memory import MemoryTracer
from headwater.observability.tracing.traces import (
    Traces,
    annotate,
    is_traced,
    link_commits,
    note_commit,
    note_error,
    note_failure,
    record_span,
    span,
)


@pytest.fixture
def tracer() -> MemoryTracer:
    return MemoryTracer()


@pytest.fixture
def traces(tracer: MemoryTracer) -> Traces:
    return Traces(tracer)


def read_log(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_steps_of_a_batch_are_spans_of_one_trace(tracer: MemoryTracer, traces: Traces) -> None:
    with traces.begin("batch", ago=10, table="orders"):
        with span("fetch", objects=2):
            with span("infer"):
                annotate(columns=3)
            record_span("download", ago=4, ended_ago=1, bytes=7)
        annotate(rows=5)
    infer, download, fetch, batch = tracer.spans
    assert [one.name for one in tracer.spans] == ["infer", "download", "fetch", "batch"]
    assert {one.trace_id for one in tracer.spans} == {batch.trace_id}
    assert [one.parent_id for one in (infer, download, fetch, batch)] == [
        fetch.span_id,
        fetch.span_id,
        batch.span_id,
        "",
    ]
    assert batch.attributes == {"table": "orders", "rows": 5}
    assert (infer.attributes, download.attributes, fetch.attributes) == (
        {"columns": 3},
        {"bytes": 7},
        {"objects": 2},
    )
    assert download.ended is not None
    assert batch.ended is not None
    assert download.ended - download.began == pytest.approx(3e9, rel=0.01)
    assert 10e9 <= batch.ended - batch.began < 20e9


def test_without_a_trace_a_step_only_runs(tracer: MemoryTracer) -> None:
    ran = []
    with Traces().begin("batch", table="orders"), span("fetch"):
        annotate(rows=1)
        record_span("download", ago=1)
        note_failure("kind", "message")
        note_commit("orders", instant="1", completed="2")
        link_commits("orders", ["2"])
        ran.append(is_traced())
    assert (ran, list(tracer.spans)) == ([False], [])


@pytest.mark.usefixtures("logging_put_back")
def test_a_batch_without_events_is_no_trace(
    tracer: MemoryTracer, traces: Traces, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(verbose=False, json=True)
    with traces.begin("batch", table="orders"):
        structlog.get_logger().info("waiting")
    with traces.resume("batch"):
        structlog.get_logger().info("still waiting")
    assert list(tracer.spans) == []
    lines = read_log(capsys)
    assert [line["event"] for line in lines] == ["waiting", "still waiting"]
    assert not any("trace_id" in line for line in lines)


def test_errors_are_on_every_span_that_they_leave_and_show_no_secret(
    tracer: MemoryTracer, traces: Traces
) -> None:
    error = LakeError("cannot write to https://me:hunter22@host/lake" + "x" * 1000, hint="check")
    with pytest.raises(LakeError), traces.begin("batch"), span("commit rows"):
        raise error
    assert [one.name for one in tracer.spans] == ["commit rows", "batch"]
    for one in tracer.spans:
        assert one.error is not None
        kind, message = one.error
        assert kind == "headwater.errors.LakeError"
        assert message.startswith("cannot write to https://***@host/lake")
        assert len(message) == 500
        assert one.ended is not None


def test_an_error_without_a_step_is_a_trace(tracer: MemoryTracer, traces: Traces) -> None:
    with pytest.raises(ValueError, match="no such table"), traces.begin("batch"):
        raise ValueError("no such table")
    with traces.begin("index"):
        note_error(KeyError("chunk"))
    assert [(one.name, one.error) for one in tracer.spans] == [
        ("batch", ("builtins.ValueError", "no such table")),
        ("index", ("builtins.KeyError", "'chunk'")),
    ]


@pytest.mark.usefixtures("logging_put_back")
def test_log_lines_of_a_batch_have_the_ids_of_its_span(
    tracer: MemoryTracer, traces: Traces, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(verbose=False, json=True)
    with traces.begin("batch"):
        with span("fetch"):
            structlog.get_logger().info("own")
            logging.getLogger("library").warning("of a library")
        structlog.get_logger().info("of the batch")
    structlog.get_logger().info("outside")
    with traces.resume("batch"):
        structlog.get_logger().info("of its end")
    fetch, batch = tracer.spans
    found = [(line["event"], line.get("trace_id"), line.get("span_id")) for line in read_log(capsys)]
    assert found == [
        ("own", fetch.trace_id, fetch.span_id),
        ("of a library", fetch.trace_id, fetch.span_id),
        ("of the batch", batch.trace_id, batch.span_id),
        ("outside", None, None),
        ("of its end", batch.trace_id, batch.span_id),
    ]


@pytest.mark.usefixtures("logging_put_back")
def test_log_lines_as_text_have_the_ids_too(
    traces: Traces, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    configure_logging(verbose=False, json=False)
    with traces.begin("batch"), span("fetch"):
        structlog.get_logger().info("own")
    line = capsys.readouterr().err
    assert not line.startswith("{")
    assert "trace_id" in line
    assert "span_id" in line


def test_a_thread_continues_a_trace_in_a_copy_of_the_context(tracer: MemoryTracer, traces: Traces) -> None:
    def delete() -> None:
        with span("delete"):
            pass

    with traces.begin("capture"):
        annotate(messages=1)
        copied = threading.Thread(target=copy_context().run, args=(delete,))
        other = threading.Thread(target=delete)
    for thread in (copied, other):
        thread.start()
        thread.join()
    capture, deletion = tracer.spans
    assert (deletion.name, deletion.parent_id) == ("delete", capture.span_id)


def test_a_batch_links_to_the_newest_commits_that_it_reads(tracer: MemoryTracer, traces: Traces) -> None:
    with traces.begin("capture"):
        for number in range(1001):
            with span("commit events"):
                note_commit("events", instant=f"i{number}", completed=f"c{number}")
    with traces.begin("batch"):
        link_commits("events", ["c0", "c1", "c1000", "of another process"])
        annotate(rows=1)
    commits = [one for one in tracer.spans if one.name == "commit events"]
    assert commits[1].attributes == {"instant": "i1", "completed": "c1"}
    assert tracer.spans[-1].links == [commits[1].span_id, commits[1000].span_id]

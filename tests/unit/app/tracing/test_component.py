"""Sending traces: a real collector that answers, refuses, hangs or is not there."""

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from headwater.app.tracing import Tracing, build_tracing
from headwater.app.tracing import component as component_module
from headwater.config.settings import Settings
from headwater.errors import ConfigError
from headwater.observability.metrics import Metrics
from headwater.observability.part_board import PartBoard
from headwater.observability.tracing.traces import span
from tests.fixtures.servers.trace_collector import TraceCollector, run_trace_collector
from tests.fixtures.waiting import wait_until


@pytest.fixture
def collector() -> Iterator[TraceCollector]:
    with run_trace_collector() as running:
        yield running


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component_module, "_FLUSH_SECONDS", 1.0)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.3")


def build(metrics: Metrics | None = None, **tracing: Any) -> Tracing:
    settings = Settings.model_validate(
        {
            "source": {"type": "local", "path": "in"},
            "lake": "lake",
            "tables": {"t": {"path": "*.json"}},
            "observability": {"tracing": tracing},
        }
    )
    built = build_tracing(settings, metrics)
    assert built is not None
    return built


def trace(tracing: Tracing, name: str = "batch t") -> None:
    with tracing.traces.begin(name, table="t"), span("fetch"):
        pass


def test_spans_arrive_with_the_headers_and_the_names_of_the_environment(
    collector: TraceCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=hunter22")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
    tracing = build(endpoint=collector.url)
    trace(tracing)
    tracing.stop()
    tracing.stop()
    assert {one.name for one in collector.spans} == {"batch t", "fetch"}
    assert collector.paths == ["/v1/traces"]
    assert collector.headers[0]["api-key"] == "hunter22"
    resource = collector.spans[0].resource
    assert resource["service.name"] == "headwater"
    assert resource["deployment.environment"] == "test"


def test_without_an_endpoint_the_environment_has_it_and_the_name_of_the_service(
    collector: TraceCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "shop")
    tracing = build()
    trace(tracing)
    tracing.stop()
    assert collector.paths == ["/v1/traces"]
    assert collector.spans[0].resource["service.name"] == "shop"


def test_only_a_share_of_the_traces_is_sent_each_of_them_complete(collector: TraceCollector) -> None:
    tracing = build(endpoint=collector.url, sample_ratio=0.5)
    for _ in range(200):
        trace(tracing)
    tracing.stop()
    roots = collector.of("batch t")
    assert 50 < len(roots) < 150
    assert len(collector.of("fetch")) == len(roots)
    none = build(endpoint=collector.url, sample_ratio=0)
    trace(none)
    none.stop()
    assert len(collector.of("batch t")) == len(roots)


def test_a_collector_that_refuses_is_reported_once_and_its_return_too(collector: TraceCollector) -> None:
    metrics, board = Metrics(CollectorRegistry()), PartBoard()
    tracing = build(metrics, endpoint=collector.url)
    tracing.report_to(board)
    tracing.start()
    collector.status = 401
    with capture_logs() as lines:
        trace(tracing)
        wait_until(lambda: board.read()["tracing"].attempt, "a failure")
        trace(tracing)
        wait_until(lambda: len(collector.paths) == 2, "another failure")
        state = board.read()["tracing"]
        assert (state.status, "401" in state.error) == ("retrying", True)
        collector.status = 200
        trace(tracing)
        wait_until(lambda: board.read()["tracing"].status == "running", "the collector's return")
        tracing.stop()
    assert [(line["log_level"], line["event"]) for line in lines] == [
        ("warning", "trace collector unavailable; dropping traces"),
        ("info", "trace collector available again"),
    ]
    assert lines[1]["dropped_spans"] == 4
    sample = metrics.registry.get_sample_value
    assert sample("headwater_trace_spans_dropped_total") == 4
    assert sample("headwater_trace_spans_sent_total") == 2
    assert board.read()["tracing"].status == "stopped"


def test_an_absent_collector_disturbs_nothing_and_only_its_absence_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1.5")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    tracing = build(endpoint=address)
    with capture_logs() as lines:
        trace(tracing)
        wait_until(lambda: lines, "the failure")
        trace(tracing)
        tracing.stop()
    assert [line["event"] for line in lines].count("trace collector unavailable; dropping traces") == 1
    assert "refused" in lines[0]["error"]
    assert not [record for record in caplog.records if record.name.startswith("opentelemetry")]


def test_a_collector_that_hangs_delays_no_batch_and_the_end_only_for_a_moment(
    collector: TraceCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "20")
    collector.is_open.clear()
    tracing = build(endpoint=collector.url)
    began = time.monotonic()
    for _ in range(900):
        trace(tracing)
    assert time.monotonic() - began < 5
    with capture_logs() as lines:
        began = time.monotonic()
        tracing.stop()
        assert 0.9 < time.monotonic() - began < 3
    assert [line["event"] for line in lines] == [
        "last traces not sent: the collector did not respond in time"
    ]
    collector.is_open.set()


def test_spans_that_the_queue_has_no_room_for_are_reported(
    collector: TraceCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "20")
    collector.is_open.clear()
    tracing = build(endpoint=collector.url)
    with capture_logs() as lines:
        for _ in range(20):
            trace(tracing)
        collector.is_open.set()
        tracing.stop()
    assert [line["event"] for line in lines] == ["traces incomplete"]
    assert "Queue full" in lines[0]["reason"]
    assert len(collector.spans) < 40


def test_an_invalid_variable_is_an_error_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-1")
    with pytest.raises(ConfigError, match="environment"):
        build()

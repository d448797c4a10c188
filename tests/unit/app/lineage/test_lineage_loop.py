"""Telling a collector of batches: a real server that answers, refuses, hangs or is not there."""

import importlib
import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from headwater.app.components import BatchNote, delivery_loop
from headwater.app.lineage import loop as lineage_loop
from headwater.app.lineage.loop import LineageLoop
from headwater.config.loader import parse_settings
from headwater.observability.metrics import Metrics
from tests.fixtures.medallion.lineage_collector import Collector, check_event, run_collector
from tests.fixtures.waiting import wait_until

TEXT = """
source: {type: s3, bucket: landing, prefix: shop/}
lake: s3a://acme-lake/bronze
lineage: {namespace: shop, max_waiting_batches: 3}
tables:
  orders: {path: "orders/*.json"}
  paid: {from: orders, transform: [{sql: select * from input where paid; }]}
  both:
    from: [orders, paid]
    refresh: full
    record_key: id
    transform: [{sql: select p.id from paid p join orders o on o.id = p.id}]
"""
NOW = datetime(2026, 5, 1, 12, tzinfo=timezone.utc)


@pytest.fixture(scope="module", autouse=True)
def _import_openlineage() -> None:
    # The loop imports it in its thread, for longer than these tests let a stop take.
    importlib.import_module("headwater.app.lineage.openlineage")


@pytest.fixture
def collector() -> Iterator[Collector]:
    with run_collector() as running:
        yield running


@pytest.fixture(autouse=True)
def _in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage_loop, "_FIRST_PAUSE_SECONDS", 0.02)


@contextmanager
def run_loop(metrics: Metrics | None = None, key: str = "", **place: Any) -> Iterator[LineageLoop]:
    overrides = {f"lineage.{name}": str(value) for name, value in place.items()}
    settings = parse_settings(TEXT, Path("/shop/headwater.yaml"), {}, overrides)
    assert settings.lineage is not None
    environ = {"OPENLINEAGE_API_KEY": key} if key else {}
    loop = LineageLoop(settings, settings.lineage, environ, lambda: NOW, metrics)
    loop.start()
    try:
        yield loop
    finally:
        loop.stop()
        assert loop.defect is None


def failed(table: str, number: int = 0) -> BatchNote:
    return BatchNote(table, NOW, NOW + timedelta(seconds=number), error=f"no. {number}")


def count(metrics: Metrics, what: str, table: str) -> float | None:
    return metrics.registry.get_sample_value(f"headwater_lineage_batches_{what}_total", {"table": table})


def test_a_failed_batch_is_a_run_that_began_and_failed(collector: Collector) -> None:
    with run_loop(url=collector.url, key="k3y") as loop:
        loop.on_batch(failed("paid", 5))
    for event in collector.events:
        check_event(event)
    begin, end = collector.of("paid")
    assert (begin["eventType"], begin["eventTime"]) == ("START", "2026-05-01T12:00:00.000Z")
    assert (end["eventType"], end["eventTime"]) == ("FAIL", "2026-05-01T12:00:05.000Z")
    assert begin["run"]["runId"] == end["run"]["runId"]
    assert end["run"]["facets"]["errorMessage"]["message"] == "no. 5"
    assert end["job"]["facets"]["sql"]["query"] == "select * from input where paid"
    assert end["inputs"] == [
        {"namespace": "s3://acme-lake", "name": "bronze/orders", "facets": {}, "inputFacets": {}}
    ]
    # The process is a run, too, and the batches are its children.
    states = [event["eventType"] for event in collector.of("headwater run")]
    assert states == ["START", "COMPLETE"]
    parents = {event["run"]["facets"]["parent"]["run"]["runId"] for event in (begin, end)}
    assert parents == {collector.of("headwater run")[0]["run"]["runId"]}
    assert set(collector.paths) == {"/api/v1/lineage"}
    assert set(collector.keys) == {"Bearer k3y"}


def test_every_table_of_a_join_is_an_input(collector: Collector) -> None:
    with run_loop(url=collector.url) as loop:
        loop.on_batch(failed("both"))
    for event in collector.of("both"):
        check_event(event)
        assert [one["name"] for one in event["inputs"]] == ["bronze/orders", "bronze/paid"]


def test_objects_are_a_dataset_of_bucket_and_prefix(collector: Collector) -> None:
    with run_loop(url=f"{collector.url}/some/", endpoint="/where", key="") as loop:
        loop.on_batch(failed("orders"))
    (end,) = collector.of("orders", "FAIL")
    assert [(one["namespace"], one["name"]) for one in end["inputs"]] == [("s3://landing", "shop")]
    assert [(one["namespace"], one["name"]) for one in end["outputs"]] == [
        ("s3://acme-lake", "bronze/orders")
    ]
    assert (set(collector.paths), set(collector.keys)) == ({"/some/where"}, {None})


def test_collector_receives_everything_once_after_an_outage(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.status = 503
    metrics = Metrics(CollectorRegistry())
    with run_loop(metrics, url=collector.url) as loop:
        loop.on_batch(failed("orders", 1))
        loop.on_batch(failed("orders", 2))
        wait_until(lambda: len(collector.paths) >= 3)
        collector.status = 201
        wait_until(lambda: count(metrics, "sent", "orders") == 2)
    messages = [event["run"]["facets"]["errorMessage"]["message"] for event in collector.of("orders", "FAIL")]
    assert messages == ["no. 1", "no. 2"]
    assert count(metrics, "dropped", "orders") is None


def test_hanging_collector_blocks_nothing_and_oldest_events_are_dropped(collector: Collector) -> None:
    collector.is_open.clear()
    metrics = Metrics(CollectorRegistry())
    with run_loop(metrics, url=collector.url) as loop:
        started = time.monotonic()
        for number in range(20):
            loop.on_batch(failed("orders", number))
        assert time.monotonic() - started < 0.5
        collector.is_open.set()
        wait_until(lambda: (count(metrics, "sent", "orders") or 0) >= 3)
    sent, dropped = (count(metrics, what, "orders") or 0 for what in ("sent", "dropped"))
    assert sent + dropped == 20
    assert sent <= 4  # three that wait and the one that was in hand
    messages = [event["run"]["facets"]["errorMessage"]["message"] for event in collector.of("orders", "FAIL")]
    assert messages[-3:] == ["no. 17", "no. 18", "no. 19"]


def test_permanently_rejected_events_do_not_block_others(collector: Collector) -> None:
    collector.status = 422
    metrics = Metrics(CollectorRegistry())
    with run_loop(metrics, url=collector.url) as loop:
        loop.on_batch(failed("orders"))
        wait_until(lambda: count(metrics, "dropped", "orders") == 1)
        collector.status = 201
        loop.on_batch(failed("paid"))
    assert count(metrics, "sent", "paid") == 1


def test_a_run_ends_in_time_without_a_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    # Only here: with a collector, the loop ends when all is delivered, however slow the machine is.
    monkeypatch.setattr(delivery_loop, "_FLUSH_SECONDS", 1.0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
        metrics = Metrics(CollectorRegistry())
        started = time.monotonic()
        with run_loop(metrics, url=nobody) as loop:
            loop.on_batch(failed("orders"))
            loop.on_batch(failed("paid"))
        assert time.monotonic() - started < 5
    assert (count(metrics, "dropped", "orders"), count(metrics, "dropped", "paid")) == (1, 1)


def test_a_file_gets_a_line_an_event(tmp_path: Path) -> None:
    file = tmp_path / "lineage.jsonl"
    for number in (1, 2):
        with run_loop(file=file) as loop:
            loop.on_batch(failed("orders", number))
    events = [json.loads(line) for line in file.read_text().splitlines()]
    for event in events:
        check_event(event)
    assert [event["eventType"] for event in events] == ["START", "START", "FAIL", "COMPLETE"] * 2
    assert events[1]["outputs"] == events[5]["outputs"]

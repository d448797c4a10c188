"""Webhooks against a real HTTP server that fails at first: documents arrive, and no batch waits for them."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from headwater.app.components import BatchNote
from headwater.app.preflight import check_before_run
from headwater.app.webhooks import WebhookLoop, build_webhooks
from headwater.capture.consumer import CommitReport
from headwater.config.settings import Settings
from headwater.errors import ConfigError
from headwater.ingest.planning.outcome import BatchResult
from headwater.observability.metrics import Metrics
from headwater.observability.part_board import PartBoard
from tests.fixtures.free_port import find_free_port
from tests.fixtures.servers.webhook_receiver import Receiver, running_receiver
from tests.fixtures.waiting import wait_until

NOON = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
HEADERS = {"HEADWATER_WEBHOOK_HEADERS": "Authorization=Bearer%20key"}
Start = Callable[..., WebhookLoop]


def note(*, rows: int = 3, quarantined: int = 0, bad_rows: int = 0, committed: bool = True) -> BatchNote:
    objects = Counter(ingested=1, quarantined=quarantined)
    result = BatchResult("orders", "", objects, Counter(), rows=rows, bad_rows=bad_rows, committed=committed)
    return BatchNote("orders", NOON, NOON, result)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.app.webhooks.loop._LONGEST_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr("headwater.app.components.delivery_loop._FLUSH_SECONDS", 2)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(CollectorRegistry())


@pytest.fixture
def board() -> PartBoard:
    return PartBoard()


@pytest.fixture
def start(tmp_path: Path, metrics: Metrics, board: PartBoard) -> Iterator[Start]:
    started: list[WebhookLoop] = []

    def start_one(**webhooks: Any) -> WebhookLoop:
        settings = build_settings(tmp_path, **webhooks)
        (loop,) = build_webhooks(settings, HEADERS, lambda: NOON, metrics)
        loop.report_to(board)
        loop.start()
        started.append(loop)
        return loop

    yield start_one
    for loop in started:
        loop.stop()


def build_settings(folder: Path, **webhooks: Any) -> Settings:
    source = {"type": "local", "path": str(folder / "in")}
    tables = {"orders": {"path": "*.json"}}
    return Settings.model_validate(
        {"source": source, "lake": str(folder / "lake"), "tables": tables, "webhooks": webhooks}
    )


def read(receiver: Receiver) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in receiver.received]


def count(metrics: Metrics, name: str, event: str = "commit") -> float:
    labels = {"webhook": "webhook-1", "event": event}
    return metrics.registry.get_sample_value(f"headwater_webhooks_{name}_total", labels) or 0


def test_a_commit_arrives_after_the_server_failed(start: Start, metrics: Metrics, board: PartBoard) -> None:
    with running_receiver(500, 503, 429) as receiver:
        loop = start(on_commit=f"{receiver.url}/hook")
        loop.on_batch(note())
        wait_until(lambda: count(metrics, "sent") == 1)
        assert board.read()["webhook-1"].status == "running"
    documents = read(receiver)
    assert len(documents) == 4
    # The same document each time, so that its receiver can recognize a repetition.
    assert len({document["id"] for document in documents}) == 1
    assert {name: documents[0][name] for name in ("event", "table", "at", "rows", "objects")} == {
        "event": "commit",
        "table": "orders",
        "at": "2026-06-01T12:00:00+00:00",
        "rows": 3,
        "objects": 1,
    }
    request = receiver.received[0]
    assert request.path == "/hook"
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["Authorization"] == "Bearer key"


def test_quarantined_data_is_reported_and_nothing_else(start: Start, metrics: Metrics) -> None:
    with running_receiver() as receiver:
        loop = start(on_quarantine=receiver.url)
        loop.on_batch(note())
        loop.on_batch(BatchNote("orders", NOON, NOON, error="no space left"))
        loop.on_capture(CommitReport(5, 5, 0, 0.1))
        loop.on_batch(note(quarantined=2, bad_rows=7, committed=False))
        loop.on_capture(CommitReport(5, 4, 1, 0.1))
        wait_until(lambda: count(metrics, "sent", "quarantine") == 2)
    names = ("event", "table", "messages", "objects", "records")
    found = [[document[name] for name in names] for document in read(receiver)]
    assert found == [["quarantine", "orders", 0, 2, 7], ["quarantine", None, 1, 0, 0]]


def test_one_target_of_both_gets_both(start: Start) -> None:
    with running_receiver() as receiver:
        loop = start(on_commit=receiver.url, on_quarantine=receiver.url)
        loop.on_batch(note(bad_rows=1))
        wait_until(lambda: len(receiver.received) == 2)
    assert [document["event"] for document in read(receiver)] == ["commit", "quarantine"]


def test_a_rejected_document_is_dropped_at_once_and_the_next_is_sent(
    start: Start, metrics: Metrics, board: PartBoard
) -> None:
    with running_receiver(404) as receiver:
        loop = start(on_commit=receiver.url)
        loop.on_batch(note(rows=1))
        wait_until(lambda: count(metrics, "dropped") == 1)
        assert board.read()["webhook-1"].error == "the target answers with status 404"
        loop.on_batch(note(rows=2))
        wait_until(lambda: count(metrics, "sent") == 1)
    assert [document["rows"] for document in read(receiver)] == [1, 2]


def test_a_batch_never_waits_and_the_oldest_documents_are_dropped(start: Start, metrics: Metrics) -> None:
    with running_receiver() as receiver:
        receiver.gate.clear()
        loop = start(on_commit=receiver.url, max_waiting=2)
        loop.on_batch(note(rows=0))
        wait_until(lambda: receiver.received)
        began = time.monotonic()
        for rows in range(1, 101):
            loop.on_batch(note(rows=rows))
        # Far less than the timeout of the one request that is open.
        assert time.monotonic() - began < 5
        assert count(metrics, "dropped") == 98
        receiver.gate.set()
        wait_until(lambda: count(metrics, "sent") == 3)
    assert [document["rows"] for document in read(receiver)] == [0, 99, 100]


def test_a_document_is_dropped_after_its_time(start: Start, metrics: Metrics) -> None:
    loop = start(on_commit=f"http://127.0.0.1:{find_free_port()}", retry_for=0.1)
    loop.on_batch(note())
    wait_until(lambda: count(metrics, "dropped") == 1)


def test_a_server_that_is_silent_is_given_up_after_the_timeout(start: Start, board: PartBoard) -> None:
    with running_receiver() as receiver:
        receiver.gate.clear()
        loop = start(on_commit=receiver.url, timeout=0.1)
        loop.on_batch(note())
        wait_until(lambda: board.read()["webhook-1"].attempt >= 2)
        assert "timed out" in board.read()["webhook-1"].error


def test_an_ending_run_sends_what_waits(start: Start, metrics: Metrics) -> None:
    with running_receiver() as receiver:
        loop = start(on_commit=receiver.url)
        for rows in range(20):
            loop.on_batch(note(rows=rows))
        loop.stop()
        assert len(receiver.received) == count(metrics, "sent") == 20


def test_an_ending_run_does_not_wait_for_a_dead_target(start: Start, metrics: Metrics) -> None:
    loop = start(on_commit=f"http://127.0.0.1:{find_free_port()}")
    for _ in range(20):
        loop.on_batch(note())
    loop.stop()
    assert count(metrics, "dropped") == 20


def test_a_document_is_published_to_a_topic(
    start: Start, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    answer = b"<PublishResponse><PublishResult><MessageId>1</MessageId></PublishResult></PublishResponse>"
    with running_receiver(500, answer=answer) as receiver:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SNS", receiver.url)
        loop = start(on_commit="sns:arn:aws:sns:eu-west-1:123456789012:alerts")
        loop.on_batch(note())
        wait_until(lambda: count(metrics, "sent") == 1)
    assert len(receiver.received) == 2
    text = receiver.received[1].body.decode()
    assert "Action=Publish" in text
    assert "TopicArn=arn%3Aaws%3Asns%3Aeu-west-1%3A123456789012%3Aalerts" in text
    assert "%22event%22%3A+%22commit%22" in text or "%22event%22%3A%20%22commit%22" in text


def test_each_target_has_a_thread_of_its_own(tmp_path: Path) -> None:
    settings = build_settings(tmp_path, on_commit=["http://a", "http://b"], on_quarantine=["http://b"])
    loops = build_webhooks(settings, {}, lambda: NOON)
    assert [loop.name for loop in loops] == ["webhook-1", "webhook-2"]
    assert build_webhooks(build_settings(tmp_path), {}, lambda: NOON) == []


def test_invalid_headers_are_an_error_before_spark_starts(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(ConfigError, match="HEADWATER_WEBHOOK_HEADERS: entry 1 is not NAME=VALUE"):
        check_before_run(build_settings(tmp_path), {"HEADWATER_WEBHOOK_HEADERS": "key"})

"""Capture of several queues: one failure ends all, and each source waits for its own queues only."""

import json
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from headwater.app import App
from headwater.app.capture import CaptureParts
from headwater.app.captures import Captures
from headwater.capture.captured_event import CapturedEvent
from headwater.capture.events_table import AppendResult
from headwater.config.settings import Settings
from headwater.config.source import SourceConfig
from headwater.errors import QueueNotFoundError
from headwater.observability.part_board import PartBoard
from headwater.observability.tracing.traces import Traces
from headwater.sources.memory.queue import MemoryQueue
from headwater.sources.queue import Message
from tests.fixtures.notification_bodies import s3_record
from tests.fixtures.waiting import wait_until


class LostQueue(MemoryQueue):
    """Is deleted while it is used."""

    def receive(self, max_messages: int, wait_seconds: float) -> Sequence[Message]:
        raise QueueNotFoundError("the queue is deleted")


class Rig:
    """Queues in memory instead of those that the sources name; `events` are those committed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *lost: str) -> None:
        self.queues: dict[str, MemoryQueue] = {}
        self.events: list[CapturedEvent] = []
        self.board = PartBoard()

        def build_queue(source: SourceConfig) -> MemoryQueue:
            name = str(source.name)
            self.queues[name] = LostQueue() if name in lost else MemoryQueue()
            return self.queues[name]

        monkeypatch.setattr("headwater.app.capture.build_queue", build_queue)
        queue = {"url": "https://sqs.eu-west-1.amazonaws.com/1/shared"}
        sources: list[dict[str, Any]] = [{"name": name, "type": "s3", "bucket": name} for name in "abc"]
        for source in sources[:2]:
            source["queue"] = queue
        tables = {"t": {"path": "*.json"}}
        self.settings = Settings.model_validate({"source": sources, "lake": "s3a://lake", "tables": tables})
        parts = CaptureParts(self._append, lambda _: None, lambda _: None, None, self.board, Traces())
        self.captures = Captures(App(self.settings), parts)
        self.stop, self.ended = threading.Event(), threading.Event()

    def _append(self, batch: Sequence[CapturedEvent]) -> AppendResult:
        self.events += batch
        return AppendResult(len(batch), 0, 0.0)


def describe(bucket: str) -> str:
    record = s3_record()
    record["s3"]["bucket"]["name"] = bucket
    return json.dumps({"Records": [record]})


def test_each_queue_has_one_consumer_whose_parts_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch)
    assert set(rig.queues) == {"a", "c"}
    assert {"capture.a", "capture-receivers.a", "capture.c"} <= set(rig.board.read())
    for name, queue in rig.queues.items():
        queue.send(describe(name))
    rig.captures.start(rig.stop, rig.ended, once=False)
    wait_until(lambda: len(rig.events) == 2)
    assert {captured.event.bucket for captured in rig.events} == {"a", "c"}
    wait_until(lambda: rig.captures.is_waiting() and rig.captures.stats.deleted == 2)
    assert all(rig.captures.is_drained(source) for source in rig.settings.sources)
    rig.stop.set()
    rig.captures.join(30)
    assert rig.captures.has_ended
    assert rig.captures.failure is None


def test_one_that_fails_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch, "c")
    rig.captures.start(rig.stop, rig.ended, once=False)
    assert rig.ended.wait(30)
    rig.captures.join(30)
    assert rig.captures.has_ended
    assert isinstance(rig.captures.failure, QueueNotFoundError)
    assert rig.stop.is_set()


def test_a_source_waits_for_its_own_queue_only(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch)
    # Its consumer does not run yet.
    rig.queues["c"].send(describe("c"))
    assert not rig.captures.is_drained(rig.settings.sources[2])
    assert [rig.captures.is_drained(source) for source in rig.settings.sources[:2]] == [True, True]
    assert rig.captures.read_queue_depth() == 1

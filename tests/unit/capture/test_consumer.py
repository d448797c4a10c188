import json
import threading
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.consumer import CommitReport, Consumer, ConsumerOptions
from headwater.capture.consumer import consumer as consumer_module
from headwater.capture.quarantine_item import QuarantineItem
from headwater.errors import LakeNotWritableError, SourceError
from headwater.observability.clock import ManualClock
from headwater.observability.metrics import Metrics
from headwater.sources.memory.queue import MemoryQueue
from headwater.sources.queue import Message, QueueDepth
from tests.fixtures.capture import (
    FAST,
    RunningConsumer,
    Tables,
    build_body,
    build_consumer,
    build_keys,
    send_keys,
)
from tests.fixtures.notification_bodies import s3_record
from tests.fixtures.waiting import wait_until

ONCE: dict[str, Any] = {"empty_polls": 2, "empty_poll_seconds": 0.05}
EMPTY = QueueDepth(0, 0)


def test_once_takes_everything_and_leaves_an_empty_queue() -> None:
    queue, tables = MemoryQueue(), Tables()
    send_keys(queue, *build_keys(57))
    stats = build_consumer(queue, tables).run_once(**ONCE)
    assert sorted(tables.keys) == sorted(build_keys(57))
    assert queue.depth() == EMPTY
    assert (stats.messages, stats.events, stats.deleted, stats.duplicates) == (57, 57, 57, 0)


def test_once_on_an_empty_queue_commits_nothing() -> None:
    tables = Tables()
    assert build_consumer(MemoryQueue(), tables).run_once(**ONCE).commits == 0
    assert not tables.commits


def test_once_continues_while_messages_arrive() -> None:
    queue, tables = MemoryQueue(), Tables()
    left = build_keys(5)

    def is_fed() -> bool:
        if left:
            queue.send(build_body(left.pop()))
        return not left

    build_consumer(queue, tables).run_once(**ONCE, is_fed=is_fed)
    assert sorted(tables.keys) == build_keys(5)


def test_once_waits_for_messages_held_by_a_dead_consumer() -> None:
    queue, tables = MemoryQueue(visibility_timeout=1), Tables()
    send_keys(queue, "held")
    assert queue.receive(10, 0)
    build_consumer(queue, tables, visibility_timeout=1).run_once(**ONCE)
    assert tables.keys == ["held"]


def test_once_does_not_wait_for_ever_for_messages_of_others() -> None:
    clock = ManualClock()
    queue, tables = MemoryQueue(visibility_timeout=3600), Tables()
    send_keys(queue, "held")
    assert queue.receive(10, 0)
    consumer = build_consumer(queue, tables, clock, visibility_timeout=30)
    polls = []

    def is_fed() -> bool:
        polls.append(1)
        clock.advance(1)
        return True

    consumer.run_once(**ONCE, is_fed=is_fed)
    assert len(polls) >= 35
    assert not tables.keys


def test_an_unusable_message_is_quarantined_and_the_others_are_not_held_up() -> None:
    queue, tables = MemoryQueue(), Tables()
    queue.send("{no json", message_id="poison")
    send_keys(queue, "good")
    stats = build_consumer(queue, tables).run_once(**ONCE)
    (item,) = tables.quarantine
    assert (item.level, item.reason, item.message_id, item.payload) == (
        "message",
        "malformed_json",
        "poison",
        "{no json",
    )
    assert tables.keys == ["good"]
    assert queue.depth() == EMPTY
    assert stats.quarantined == 1


def test_exactly_the_bad_record_among_good_ones_is_quarantined() -> None:
    queue, tables = MemoryQueue(), Tables()
    records = [s3_record(object_={"key": "a"}), s3_record(eventName=None), s3_record(object_={"key": "c"})]
    queue.send(json.dumps({"Records": records}))
    build_consumer(queue, tables).run_once(**ONCE)
    (item,) = tables.quarantine
    assert (item.level, item.record_index, item.reason) == ("record", 1, "missing_field")
    assert json.loads(item.payload or "")["eventSource"] == "aws:s3"
    assert tables.keys == ["a", "c"]


def test_messages_without_an_object_event_are_counted_and_deleted_without_a_commit() -> None:
    queue, tables = MemoryQueue(), Tables()
    queue.send(json.dumps({"Event": "s3:TestEvent", "Bucket": "b"}))
    stats = build_consumer(queue, tables).run_once(**ONCE)
    assert stats.skipped == {"test_event": 1}
    assert (stats.commits, stats.deleted) == (0, 1)
    assert not tables.commits


def test_the_same_event_twice_in_a_batch_counts_once() -> None:
    queue, tables = MemoryQueue(), Tables()
    send_keys(queue, "same", "same", "other")
    stats = build_consumer(queue, tables, batch_seconds=0.2).run_once(**ONCE)
    assert sorted(tables.keys) == ["other", "same"]
    assert (stats.events, stats.duplicates, stats.deleted) == (2, 1, 3)


def test_listing_events_name_their_source() -> None:
    queue, tables = MemoryQueue(), Tables()
    queue.send(build_body("listed"), {"headwater-source": "listing"})
    queue.send(build_body("notified"))
    build_consumer(queue, tables).run_once(**ONCE)
    assert {captured.event.key: captured.source for captured in tables.events} == {
        "listed": "listing",
        "notified": "notification",
    }


def test_nothing_is_deleted_before_its_commit_has_ended() -> None:
    queue, tables = MemoryQueue(), Tables()
    tables.gate.clear()
    send_keys(queue, *build_keys(3))
    with RunningConsumer(queue, tables) as running:
        assert tables.waiting.wait(10)
        assert queue.depth().in_flight == 3
        tables.gate.set()
        running.wait_for(deleted=3)
        assert queue.depth() == EMPTY


def test_the_next_batch_fills_while_the_last_one_is_committed() -> None:
    queue, tables = MemoryQueue(), Tables()
    tables.gate.clear()
    send_keys(queue, "first")
    with RunningConsumer(queue, tables) as running:
        assert tables.waiting.wait(10)
        send_keys(queue, *build_keys(20))
        running.wait_for(messages=21)
        tables.gate.set()
        running.wait_for(events=21)
    assert tables.commits == [("events", 1), ("events", 20)]


def test_a_batch_closes_by_count() -> None:
    queue, tables = MemoryQueue(), Tables()
    send_keys(queue, *build_keys(95))
    build_consumer(queue, tables, batch_seconds=60, max_messages_per_batch=30, receivers=1).run_once(**ONCE)
    assert [size for _, size in tables.commits] == [30, 30, 30, 5]


def test_a_batch_closes_by_bytes() -> None:
    queue, tables = MemoryQueue(), Tables()
    send_keys(queue, *build_keys(40))
    build_consumer(queue, tables, batch_seconds=60, batch_bytes=1, receivers=1).run_once(**ONCE)
    assert [size for _, size in tables.commits] == [10, 10, 10, 10]


def test_receiving_stops_before_too_much_is_in_flight() -> None:
    queue, tables = MemoryQueue(), Tables()
    tables.gate.clear()
    send_keys(queue, *build_keys(200))
    with RunningConsumer(queue, tables, max_in_flight=50, receivers=4) as running:
        running.wait_for(messages=50)
        assert tables.waiting.wait(10)
        assert queue.depth().in_flight == 50
        tables.gate.set()
        running.wait_for(events=200)
    assert queue.depth() == EMPTY


def test_stopping_commits_the_open_batch_and_deletes_it() -> None:
    queue, tables = MemoryQueue(), Tables()
    send_keys(queue, *build_keys(15))
    with RunningConsumer(queue, tables, batch_seconds=900) as running:
        running.wait_for(messages=15)
        assert not tables.commits
    assert sorted(tables.keys) == sorted(build_keys(15))
    assert queue.depth() == EMPTY


def test_a_consumer_can_run_again() -> None:
    queue, tables = MemoryQueue(), Tables()
    consumer = build_consumer(queue, tables)
    for key in ("a", "b"):
        send_keys(queue, key)
        consumer.run_once(**ONCE)
    assert tables.keys == ["a", "b"]
    assert consumer.stats.events == 2


def test_commits_start_at_least_the_sync_interval_apart() -> None:
    clock = ManualClock()
    queue, tables = MemoryQueue(), Tables()
    send_keys(queue, "a")
    with RunningConsumer(queue, tables, clock, batch_seconds=0, min_sync_interval=60) as running:
        running.wait_for(events=1)
        send_keys(queue, "b")
        running.wait_for(messages=2)
        clock.advance(59)
        assert running.consumer.stats.commits == 1
        clock.advance(1)
        running.wait_for(commits=2)


def test_each_commit_is_reported_and_measured() -> None:
    queue, tables = MemoryQueue(), Tables()
    reports: list[CommitReport] = []
    metrics = Metrics(CollectorRegistry())
    queue.send("?")
    send_keys(queue, "a", "b")
    consumer = Consumer(
        queue,
        tables.append_events,
        tables.append_quarantine,
        ConsumerOptions(**{**FAST, "batch_seconds": 0.2}),
        on_commit=reports.append,
        metrics=metrics,
    )
    consumer.run_once(**ONCE)
    assert [(report.messages, report.events, report.quarantined) for report in reports] == [(3, 2, 1)]
    sample = metrics.registry.get_sample_value
    assert sample("headwater_messages_received_total") == 3
    assert sample("headwater_messages_failed_total") == 1
    assert sample("headwater_events_committed_total") == 2
    assert sample("headwater_commit_seconds_count", {"table": "events"}) == 1


class CountingQueue(MemoryQueue):
    """Counts receive calls that run at the same time. Each full one, but for the first, takes
    until there are two: on a busy machine they might come one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = 0
        self.most = 0
        self._full = 0
        self._crowded = threading.Event()

    def receive(self, max_messages: int, wait_seconds: float) -> Sequence[Message]:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        if self.waiting > 1:
            self._crowded.set()
        try:
            found = super().receive(max_messages, wait_seconds)
            self._full += len(found) == max_messages
            if len(found) == max_messages and self._full > 1:
                self._crowded.wait(10)
            return found
        finally:
            self.waiting -= 1


def test_one_receiver_polls_an_empty_queue_and_more_come_under_load() -> None:
    queue, tables = CountingQueue(), Tables()
    with RunningConsumer(queue, tables, receivers=6, long_poll_wait=20) as running:
        wait_until(lambda: queue.waiting == 1)
        assert queue.most == 1
        send_keys(queue, *build_keys(400))
        running.wait_for(messages=400)
        assert queue.most > 1
        queue.close()
        with pytest.raises(SourceError, match="closed"):
            running.join()
        running._error = None


def test_the_two_commits_of_a_batch_run_side_by_side_and_messages_go_after_both() -> None:
    queue, both = MemoryQueue(), threading.Barrier(2, timeout=30)
    depths: list[QueueDepth] = []

    class MeetingTables(Tables):
        def append_events(self, batch: Sequence[CapturedEvent]) -> None:
            both.wait()
            super().append_events(batch)

        def append_quarantine(self, items: Sequence[QuarantineItem]) -> None:
            both.wait()
            wait_until(lambda: bool(self.events))
            depths.append(queue.depth())
            super().append_quarantine(items)

    tables = MeetingTables()
    queue.send("?")
    send_keys(queue, "a")
    build_consumer(queue, tables, batch_seconds=0.2).run_once(**ONCE)
    assert (tables.keys, len(tables.quarantine)) == (["a"], 1)
    assert depths == [QueueDepth(0, 2)]
    assert queue.depth() == EMPTY


def test_messages_stay_when_only_their_events_were_committed() -> None:
    queue = MemoryQueue()

    class FullQuarantine(Tables):
        def append_quarantine(self, items: Sequence[QuarantineItem]) -> None:
            raise LakeNotWritableError("quarantine: the disk is full")

    tables: Tables = FullQuarantine()
    queue.send("?")
    send_keys(queue, "a")
    with pytest.raises(LakeNotWritableError, match="the disk is full"):
        build_consumer(queue, tables, batch_seconds=0.2).run_once(**ONCE)
    assert queue.depth() == QueueDepth(2, 0)
    tables = Tables()
    build_consumer(queue, tables, batch_seconds=0.2).run_once(**ONCE)
    assert (tables.keys, len(tables.quarantine)) == (["a"], 1)
    assert queue.depth() == EMPTY


def test_backlog_is_reported_until_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer_module, "_PREDECESSOR_SECONDS", -120)
    queue, tables = MemoryQueue(), Tables()
    before = datetime.now(timezone.utc)
    send_keys(queue, *build_keys(300))
    after = datetime.now(timezone.utc)
    tables.gate.clear()
    with RunningConsumer(queue, tables, max_in_flight=100, max_messages_per_batch=50) as running:
        consumer = running.consumer
        wait_until(tables.waiting.is_set)
        until = consumer.find_captured_until()
        assert until is not None
        assert before <= until <= after
        assert 0 < consumer.in_flight_ratio <= 1
        tables.gate.set()
        wait_until(lambda: queue.depth() == EMPTY)
        wait_until(lambda: (consumer.find_captured_until() or after) > after)
        assert len(tables.keys) == 300
        wait_until(lambda: consumer.in_flight_ratio == 0)


def test_messages_that_a_dead_predecessor_holds_leave_the_backlog_unknown() -> None:
    queue, tables = MemoryQueue(visibility_timeout=2), Tables()
    send_keys(queue, "held")
    (held,) = queue.receive(10, 0)
    sent = held.sent_at
    assert sent is not None
    with RunningConsumer(queue, tables, visibility_timeout=2) as running:
        wait_until(lambda: running.consumer._intake is not None)
        assert running.consumer.find_captured_until() is None
        wait_until(lambda: (running.consumer.find_captured_until() or sent) > sent)
        assert tables.keys == ["held"]


def test_a_queue_that_cannot_be_asked_leaves_the_backlog_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = MemoryQueue()

    def fail() -> QueueDepth:
        raise SourceError("away")

    with RunningConsumer(queue, Tables()) as running:
        wait_until(lambda: running.consumer.find_captured_until() is not None)
        monkeypatch.setattr(queue, "depth", fail)
        assert running.consumer.find_captured_until() is None

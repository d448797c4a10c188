"""When a continuous run ends by itself."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timezone
from threading import Event
from typing import Any

import pytest

from headwater.app.components import BatchNote
from headwater.app.stop_when import StopWhen
from headwater.capture.consumer import CommitReport
from headwater.config.stop_when import StopWhenConfig
from headwater.ingest.planning.outcome import BatchResult
from headwater.observability.part_board import PartBoard
from tests.fixtures.waiting import wait_until

NOW = datetime(2026, 5, 1, tzinfo=timezone.utc)
RESULT = BatchResult(table="orders", end="", objects=Counter(), skipped=Counter(), rows=40)


class Subject:
    """A rule with a clock, a board, and a source that may hold messages."""

    def __init__(self, **config: Any) -> None:
        self.now, self.is_waiting, self.ended = 0.0, True, Event()
        self.board = PartBoard()
        self.rule = StopWhen(
            StopWhenConfig(**config),
            self.ended.set,
            lambda: self.is_waiting,
            clock=lambda: self.now,
            look_seconds=0.01,
        )
        self.rule.report_to(self.board)

    def reason_after(self, seconds: float) -> str:
        self.now += seconds
        return self.rule.find_reason()

    def finish_batch(self, **values: Any) -> None:
        self.rule.on_batch(BatchNote("orders", NOW, NOW, replace(RESULT, **values)))


def test_idle_run_ends() -> None:
    subject = Subject(idle_for="1m")
    assert subject.reason_after(59) == ""
    assert subject.reason_after(1) == "idle for 60 seconds"


def test_batches_their_failures_and_captured_events_keep_a_run_from_being_idle() -> None:
    subject = Subject(idle_for="1m")
    for note in (
        subject.finish_batch,
        lambda: subject.rule.on_batch(BatchNote("orders", NOW, NOW, error="failed")),
        lambda: subject.rule.on_capture(CommitReport(messages=1, events=1, quarantined=0, seconds=0.1)),
    ):
        subject.now += 59
        note()
        assert subject.reason_after(59) == ""
    assert subject.reason_after(1) == "idle for 60 seconds"


@pytest.mark.parametrize(("part", "status"), [("table-orders", "working"), ("capture-receivers", "retrying")])
def test_idle_time_begins_when_work_ends(part: str, status: str) -> None:
    subject = Subject(idle_for="1m")
    at_work = subject.board.add(part)
    at_work.retry("unreachable") if status == "retrying" else at_work.note("working")
    assert subject.reason_after(300) == ""
    at_work.note("waiting")
    assert subject.reason_after(59) == ""
    assert subject.reason_after(1) == "idle for 60 seconds"


def test_held_messages_are_work() -> None:
    subject = Subject(idle_for="1m")
    subject.is_waiting = False
    assert subject.reason_after(300) == ""
    subject.is_waiting = True
    assert subject.reason_after(60) == "idle for 60 seconds"


def test_a_catalog_that_is_away_does_not_prolong_an_idle_run() -> None:
    subject = Subject(idle_for="1m")
    subject.board.add("catalogs").retry("unreachable")
    assert subject.reason_after(60) == "idle for 60 seconds"


def test_rows_of_all_batches_count() -> None:
    subject = Subject(rows=100)
    for _ in range(2):
        subject.finish_batch()
    assert subject.reason_after(10_000) == ""
    subject.finish_batch(table="clicks")
    assert subject.reason_after(0) == "120 rows committed"


def test_deadline_ends_a_busy_run() -> None:
    subject = Subject(deadline="2h", idle_for="1m")
    subject.board.add("table-orders").note("working")
    assert subject.reason_after(7_199) == ""
    assert subject.reason_after(1) == "deadline of 7200 seconds"


def test_without_a_condition_a_run_never_ends() -> None:
    assert Subject().reason_after(1e9) == ""
    assert not StopWhenConfig(idle_for="off", deadline="off").is_set


def test_the_loop_ends_the_run_once() -> None:
    subject = Subject(deadline="1s")
    subject.rule.start()
    assert not subject.ended.wait(0.05)
    subject.now += 1
    assert subject.ended.wait(10)
    wait_until(lambda: subject.rule.has_ended)
    subject.rule.stop()

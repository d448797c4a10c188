import math
from datetime import datetime, timedelta, timezone

import pytest

from headwater.capture.consumer.batch import BatchLimits, Demand, MessageBatch, Pace, choose_active_receivers
from headwater.capture.consumer.emptiness import Emptiness
from headwater.capture.consumer.reading import MessageReading
from headwater.sources.queue import Message

LIMITS = BatchLimits(seconds=1, messages=3, bytes=100)
BUSY = Pace(commit_started=99, commit_ended=99.9, commit_seconds=0.9)
START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def build_batch(*sizes: int, at: float = 100.0) -> MessageBatch:
    batch = MessageBatch()
    for number, size in enumerate(sizes):
        batch.add(MessageReading(f"m{number}", size, (), (), ()), at)
    return batch


def test_an_empty_batch_never_closes() -> None:
    assert MessageBatch().seconds_until_close(LIMITS, Pace(), 1e9) == math.inf


def test_a_batch_closes_when_its_oldest_message_is_old_enough() -> None:
    assert build_batch(1).seconds_until_close(LIMITS, BUSY, 100.25) == 0.75
    assert build_batch(1).seconds_until_close(LIMITS, BUSY, 101) == 0


@pytest.mark.parametrize("sizes", [(1, 1, 1), (100,)])
def test_a_full_batch_closes_at_once(sizes: tuple[int, ...]) -> None:
    assert build_batch(*sizes).seconds_until_close(LIMITS, BUSY, 100) == 0


def test_after_a_pause_a_batch_closes_as_soon_as_it_stops_growing() -> None:
    pause = Pace(commit_started=10, commit_ended=11)
    assert build_batch(1).seconds_until_close(LIMITS, pause, 100) == 0.25


@pytest.mark.parametrize(("commit_seconds", "lasts"), [(1.5, 3), (60, 5), (0.1, 1)])
def test_under_load_a_batch_lasts_as_long_as_two_commits_but_not_for_ever(
    commit_seconds: float, lasts: float
) -> None:
    loaded = Pace(99, 99.9, commit_seconds=commit_seconds, loaded=True)
    batch = build_batch(1, at=100)
    batch.touched_at = 100 + lasts
    assert batch.seconds_until_close(LIMITS, loaded, 100) == lasts


@pytest.mark.parametrize(("lag", "lasts"), [(5.0, 1), (5.1, 5), (3600, 5)])
def test_late_messages_go_into_full_batches(lag: float, lasts: float) -> None:
    """A backlog of 30,000 messages became five commits, each half a second after the other."""
    behind = Pace(99, 99.9, commit_seconds=0.1, loaded=True, lag_seconds=lag)
    batch = build_batch(1, at=100)
    batch.touched_at = 100 + lasts
    assert batch.seconds_until_close(LIMITS, behind, 100) == lasts
    assert batch.seconds_until_close(BatchLimits(1, messages=1, bytes=100), behind, 100) == 0


@pytest.mark.parametrize(("demand", "seconds"), [("all", 0.1), ("some", 1), ("none", 2)])
def test_a_batch_closes_the_sooner_the_more_wait_for_it(demand: Demand, seconds: float) -> None:
    pace = Pace(99, 99.9, commit_seconds=0.9, demand=demand)
    assert build_batch(1).seconds_until_close(LIMITS, pace, 100) == pytest.approx(seconds)


def test_at_the_end_of_a_load_a_batch_closes_as_soon_as_it_stops_growing() -> None:
    loaded = Pace(99, 99.9, commit_seconds=1.5, loaded=True)
    batch = build_batch(1, at=100)
    batch.touched_at = 101
    assert batch.seconds_until_close(LIMITS, loaded, 101) == 0.25


def test_a_full_batch_waits_for_the_sync_interval() -> None:
    limits = BatchLimits(seconds=1, messages=1, bytes=100, min_interval=10)
    assert build_batch(1).seconds_until_close(limits, BUSY, 100) == 9


@pytest.mark.parametrize(
    ("active", "received", "expected"),
    [(1, 10, 2), (2, 5, 3), (4, 10, 4), (3, 4, 3), (3, 0, 2), (1, 0, 1)],
)
def test_receivers_come_with_load_and_go_without(active: int, received: int, expected: int) -> None:
    assert choose_active_receivers(active, 4, received, 10) == expected


def sent(seconds: float | None) -> Message:
    at = None if seconds is None else START + timedelta(seconds=seconds)
    return Message("m", "h", "", START, sent_at=at)


def test_a_queue_is_empty_after_polls_in_a_row_found_nothing() -> None:
    emptiness = Emptiness(START, empty_polls=2)
    emptiness.report([], 0, 1)
    assert not emptiness.is_reached
    emptiness.report([], 1, 2)
    assert emptiness.is_reached


@pytest.mark.parametrize("found", [sent(-1), sent(None)])
def test_a_message_starts_the_count_again(found: Message) -> None:
    emptiness = Emptiness(START, empty_polls=2)
    emptiness.report([], 0, 1)
    emptiness.report([found], 1, 2)
    emptiness.report([], 2, 3)
    assert not emptiness.is_reached


def test_an_empty_poll_that_began_before_a_message_came_does_not_count() -> None:
    emptiness = Emptiness(START, empty_polls=1)
    emptiness.report([sent(-1)], 1, 2)
    emptiness.report([], 1.5, 2.5)
    assert not emptiness.is_reached
    emptiness.report([], 2.5, 3)
    assert emptiness.is_reached


def test_a_busy_producer_does_not_keep_a_run_going_for_ever() -> None:
    emptiness = Emptiness(START, empty_polls=2)
    polls = 0
    while not emptiness.is_reached:
        emptiness.report([sent(60 + polls)], polls, polls + 1)
        polls += 1
    assert polls == 20

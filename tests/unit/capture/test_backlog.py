"""Up to when the queue is captured: from the ages of what polls return and of what is not committed."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.capture.consumer.backlog import Backlog
from headwater.sources.queue import Message

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
QUEUE_LENGTH = 200


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def message(sent: float | None, name: str = "m") -> Message:
    return Message(name, "h", "", NOW, sent_at=None if sent is None else at(sent))


def test_nothing_is_known_before_the_first_poll() -> None:
    assert Backlog().find_captured_until() is None


def test_empty_receive_dates_the_backlog_at_its_start() -> None:
    backlog = Backlog()
    backlog.note_poll([], at(0), at(20))
    assert backlog.find_captured_until() == at(0)


def test_old_messages_imply_older_waiting_ones() -> None:
    backlog = Backlog()
    backlog.note_poll([message(-700), message(-900)], at(0), at(1))
    assert backlog.find_captured_until() == at(-900)
    # One poll of young messages proves little.
    backlog.note_poll([message(1)], at(1), at(2))
    assert backlog.find_captured_until() == at(2 - 901)
    for second in range(3, 30):
        backlog.note_poll([message(second - 1)], at(second - 1), at(second))
    assert backlog.find_captured_until() == at(28)


def test_a_message_counts_until_it_is_committed() -> None:
    backlog = Backlog()
    backlog.open(message(-50, "a"))
    backlog.open(message(-40, "b"))
    backlog.note_poll([], at(0), at(20))
    assert backlog.find_captured_until() == at(-50)
    backlog.close(["a", "unknown"])
    assert backlog.find_captured_until() == at(-40)
    backlog.close(["b"])
    assert backlog.find_captured_until() == at(0)


@pytest.mark.parametrize("is_open", [True, False])
def test_messages_without_sent_time_give_no_backlog(is_open: bool) -> None:
    backlog = Backlog()
    if is_open:
        backlog.open(message(None))
        backlog.note_poll([], at(0), at(1))
    else:
        backlog.note_poll([message(1), message(None)], at(0), at(1))
    assert backlog.find_captured_until() is None


def test_a_clock_ahead_of_ours_is_no_negative_lag() -> None:
    backlog = Backlog()
    backlog.note_poll([message(30)], at(0), at(1))
    assert backlog.find_captured_until() == at(1)


@given(st.lists(st.sampled_from(["send", "receive", "commit"]), max_size=QUEUE_LENGTH), st.integers(1, 5))
def test_nothing_older_ever_waits_in_a_queue_that_keeps_its_order(steps: list[str], size: int) -> None:
    backlog, waiting, received = Backlog(), list[Message](), list[Message]()
    for now, step in enumerate(steps):
        if step == "send":
            waiting.append(message(now, str(now)))
        elif step == "receive":
            taken, waiting = waiting[:size], waiting[size:]
            for one in taken:
                backlog.open(one)
            backlog.note_poll(taken, at(now), at(now))
            received += taken
        else:
            backlog.close(one.message_id for one in received)
            received = []
        until = backlog.find_captured_until()
        missing = [one.sent_at for one in (*waiting, *received) if one.sent_at is not None]
        assert until is None or not missing or until <= min(missing)


def test_lag_is_that_of_the_youngest_recent_poll() -> None:
    backlog = Backlog()
    assert backlog.find_lag() == 0
    backlog.note_poll([message(-700), message(-900)], at(0), at(1))
    assert backlog.find_lag() == 901
    backlog.note_poll([message(-60)], at(1), at(2))
    assert backlog.find_lag() == 62
    backlog.note_poll([], at(2), at(22))
    assert backlog.find_lag() == 0


def test_lag_without_sent_times_is_none() -> None:
    backlog = Backlog()
    backlog.note_poll([message(None)], at(0), at(1))
    assert backlog.find_lag() == 0

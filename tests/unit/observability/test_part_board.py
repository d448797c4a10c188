"""The board that the threads of a run report to."""

import pytest

from headwater.errors import SourceUnavailableError
from headwater.observability.clock import ManualClock
from headwater.observability.part_board import PartBoard, describe_error
from headwater.observability.part_state import PartState


def test_parts_are_listed_in_the_order_in_which_they_were_added() -> None:
    clock = ManualClock()
    board = PartBoard(clock)
    first, second = board.add("session"), board.add("table-orders")
    clock.advance(5)
    second.note("waiting")
    first.fail("the JVM has ended", "lost")
    assert list(board.read().items()) == [
        ("session", PartState("lost", clock.now(), "the JVM has ended")),
        ("table-orders", PartState("waiting", clock.now())),
    ]


def test_adding_a_part_again_keeps_its_state() -> None:
    board = PartBoard()
    board.add("session").note("up")
    board.add("session")
    assert board.read()["session"].status == "up"


def test_listeners_get_every_state_and_no_repetition() -> None:
    board, heard = PartBoard(), []
    part = board.add("gauges")
    board.subscribe(lambda name, state: heard.append((name, state.status)))
    part.note("running")
    part.note("running")
    board.add("index")
    assert heard == [("gauges", "starting"), ("gauges", "running"), ("index", "starting")]


def test_a_thread_reports_its_work_and_its_end() -> None:
    board = PartBoard()
    part = board.add("gauges")
    with part.reporting():
        assert board.read()["gauges"].status == "running"
    assert board.read()["gauges"].status == "stopped"


def test_a_thread_that_raises_has_failed() -> None:
    board = PartBoard()
    with pytest.raises(KeyError), board.add("gauges").reporting():
        raise KeyError("table")
    assert (board.read()["gauges"].status, board.read()["gauges"].error) == ("failed", "'table'")


def test_errors_are_short_and_without_secrets() -> None:
    board = PartBoard()
    board.add("a").retry("https://me:pass@host/ does not answer " + "x" * 2000)
    error = board.read()["a"].error
    assert error.startswith("https://***@host/ does not answer xxx")
    assert len(error) == 500


def test_an_error_is_described_by_its_message_or_its_type() -> None:
    assert describe_error(SourceUnavailableError("away", hint="wait")) == "away"
    assert describe_error(ValueError()) == "ValueError"

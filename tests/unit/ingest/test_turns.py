"""Short batches take turns; a long one holds back no other."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from headwater.ingest.turns import Turns


class Tables:
    """Batches in threads, which end when they are told to."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._pool = ThreadPoolExecutor(20)
        self.running: list[int] = []
        self.most = 0

    def start(self, number: int) -> tuple[threading.Event, "Future[None]"]:
        """The event that ends the batch, and the batch."""
        end = threading.Event()
        return end, self._pool.submit(self._work, number, end)

    def wait_for(self, numbers: list[int]) -> None:
        """Wait until exactly these run."""
        wait_until(lambda: sorted(self.running) == numbers)

    def _work(self, number: int, end: threading.Event) -> None:
        with self._turns.take():
            self.running.append(number)
            self.most = max(self.most, len(self.running))
            end.wait(10)
            self.running.remove(number)


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_as_many_run_as_there_are_cores_in_the_order_in_which_they_came() -> None:
    tables = Tables(Turns(lambda: 3, hold_seconds=60))
    begun = []
    for number in range(8):
        begun.append(tables.start(number))
        wait_until(lambda: len(tables.running) == min(3, len(begun)))
        time.sleep(0.02)  # so that it waits in this order
    for number, (end, batch) in enumerate(begun):
        tables.wait_for(list(range(number, min(8, number + 3))))
        end.set()
        batch.result(10)
    assert tables.most == 3


def test_long_batches_hold_back_no_other() -> None:
    tables = Tables(Turns(lambda: 1, hold_seconds=0.05))
    begun = [tables.start(number) for number in range(7)]
    wait_until(lambda: len(tables.running) == 7)
    for end, batch in begun:
        end.set()
        batch.result(10)


def test_turn_is_given_back_after_a_failure() -> None:
    turns = Turns(lambda: 2, hold_seconds=60)

    def fail() -> None:
        with turns.take():
            raise ValueError("once")

    for _ in range(5):
        with pytest.raises(ValueError, match="once"):
            fail()
    with turns.take(), turns.take():
        pass

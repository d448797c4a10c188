import threading

from headwater.observability.clock import ManualClock
from headwater.sources.pacing import Pacer


class SteppingClock(ManualClock):
    """Time passes exactly as long as somebody waits."""

    def wait(self, condition: threading.Condition, seconds: float | None) -> None:
        self.advance(seconds or 0)


def test_requests_are_spread_evenly() -> None:
    clock = SteppingClock()
    pace = Pacer(4, clock, threading.Event())
    times = []
    for _ in range(5):
        pace()
        times.append(clock.monotonic())
    assert times == [0, 0.25, 0.5, 0.75, 1]


def test_a_pause_gives_no_right_to_a_burst() -> None:
    clock = SteppingClock()
    pace = Pacer(1, clock, threading.Event())
    pace()
    clock.advance(100)
    pace()
    pace()
    assert clock.monotonic() == 101


def test_stop_ends_the_waiting() -> None:
    clock, stop = SteppingClock(), threading.Event()
    pace = Pacer(0.1, clock, stop)
    pace()
    stop.set()
    pace()
    assert clock.monotonic() == 0

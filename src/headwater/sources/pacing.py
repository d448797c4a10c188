"""`Pacer`: limits requests per second and spreads them evenly."""

import threading

from headwater.observability.clock import Clock


class Pacer:
    """Call it before each request, in any thread: it waits until the next one is allowed. `stop` ends the
    wait."""

    def __init__(self, per_second: float, clock: Clock, stop: threading.Event) -> None:
        self._interval = 1 / per_second
        self._clock = clock
        self._stop = stop
        self._next = clock.monotonic()
        self._pause = threading.Condition()

    def __call__(self) -> None:
        """Wait until the next request is allowed."""
        with self._pause:
            while not self._stop.is_set():
                left = self._next - self._clock.monotonic()
                if left <= 0:
                    break
                # At most a second, so that `stop` takes effect soon.
                self._clock.wait(self._pause, min(left, 1.0))
            self._next = max(self._next, self._clock.monotonic()) + self._interval

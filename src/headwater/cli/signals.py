"""Signals that end a command: SIGTERM and SIGINT set an event, and a deadline ends the process.

SIGHUP may ask for a reload instead. The handlers only put the signal into a queue, and a thread acts on it:
Python runs handlers in the main thread, which may hold the very lock that setting an event or starting a
thread needs.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType

from headwater.cli.rendering import render_error
from headwater.errors import PlatformError

_FAILED = 1

STOP_SECONDS = 25.0
"""Seconds until a stop is forced, by default: Kubernetes waits for 30, systemd for 90."""


class StopSignals:
    """The handlers of a command. `was_asked` is set by the first signal that ends it."""

    def __init__(self, stop: threading.Event, seconds: float, on_hangup: Callable[[], None] | None) -> None:
        self.was_asked = threading.Event()
        self._stop = stop
        self._on_hangup = on_hangup
        self._began_in_terminal = _has_terminal()
        self._deadline = threading.Timer(seconds, _end_by_force, (seconds,))
        self._deadline.daemon = True
        self._handled = [signal.SIGTERM, signal.SIGINT, *([signal.SIGHUP] if on_hangup else [])]
        self._before = {number: signal.getsignal(number) for number in self._handled}
        # The one queue whose `put` may interrupt a `put` of the same thread.
        self._received: SimpleQueue[int | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._act, name="signals", daemon=True)
        self._thread.start()

    def arm(self) -> None:
        """Set the handlers. PySpark sets its own for SIGINT when a session starts: call it again then."""
        for number in self._handled:
            signal.signal(number, self._handle)

    def disarm(self) -> None:
        """Restore the handlers from before, and act on the signals received until then."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._received.put(None)
        self._thread.join()
        self._deadline.cancel()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._received.put(number)

    def _act(self) -> None:
        while (number := self._received.get()) is not None:
            if (
                number == signal.SIGHUP
                and self._on_hangup
                and not (self._began_in_terminal and not _has_terminal())
            ):
                self._on_hangup()
            elif not self.was_asked.is_set():
                self.was_asked.set()
                self._stop.set()
                self._deadline.start()


@contextmanager
def stop_on_signals(
    stop: threading.Event, seconds: float = STOP_SECONDS, on_hangup: Callable[[], None] | None = None
) -> Iterator[StopSignals]:
    """Set `stop` on SIGTERM and SIGINT; end the process if the block has not ended `seconds` later.

    With `on_hangup`, SIGHUP calls it, except when the terminal of the command was closed: that stops it.
    """
    signals = StopSignals(stop, seconds, on_hangup)
    signals.arm()
    try:
        yield signals
    finally:
        signals.disarm()


def _has_terminal() -> bool:
    """True if the process has a controlling terminal that is not closed."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _end_by_force(seconds: float) -> None:
    render_error(
        PlatformError(
            f"did not stop within {seconds:.0f} s; unfinished work abandoned",
            hint="start the command again: it resumes from the last commit; or raise `stop_timeout`",
        ),
        as_json="--json" in sys.argv,
    )
    # Threads may block on Spark for minutes. All state is in the tables, as after a SIGKILL.
    os._exit(_FAILED)

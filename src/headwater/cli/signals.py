"""Signals that end a command: SIGTERM and SIGINT set an event, and a deadline ends the process."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from headwater.cli.rendering import render_error
from headwater.errors import PlatformError

_FAILED = 1

STOP_SECONDS = 25.0
"""Seconds until a stop is forced, by default: Kubernetes waits for 30, systemd for 90."""


@contextmanager
def stop_on_signals(stop: threading.Event, seconds: float = STOP_SECONDS) -> Iterator[Callable[[], None]]:
    """Set `stop` on SIGTERM and SIGINT; end the process if the block has not ended `seconds` later.

    The yielded function restores the handlers after PySpark, which sets its own SIGINT handler when a session
    starts.
    """
    deadline = threading.Timer(seconds, _end_by_force, (seconds,))
    deadline.daemon = True

    def ask_to_stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        if not stop.is_set():
            stop.set()
            deadline.start()

    def arm() -> None:
        signal.signal(signal.SIGTERM, ask_to_stop)
        signal.signal(signal.SIGINT, ask_to_stop)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    arm()
    try:
        yield arm
    finally:
        deadline.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


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

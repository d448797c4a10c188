"""`PartBoard`: the states of all parts of a run, reported by their threads and read by others."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from headwater.observability.clock import SystemClock, WallClock
from headwater.observability.part_state import PartState, PartStatus, advance
from headwater.observability.redaction import redact_text

_MAX_ERROR_CHARACTERS = 500

OnPart = Callable[[str, PartState], None]
"""Receives the name and the new state of a part; must not block."""


class PartBoard:
    """Keeps one state per part, by name. Thread-safe."""

    def __init__(self, clock: WallClock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.RLock()
        self._states: dict[str, PartState] = {}
        self._listeners: list[OnPart] = []

    def add(self, name: str) -> "Part":
        """Return the part of that name; a new one is `starting`."""
        with self._lock:
            if name not in self._states:
                self._set(name, PartState("starting", self._clock.now()))
        return Part(self, name)

    def read(self) -> dict[str, PartState]:
        """Return the current states, in the order in which the parts were added."""
        with self._lock:
            return dict(self._states)

    def subscribe(self, listener: OnPart) -> None:
        """Report every state to the listener: the current ones now, and each change in order."""
        with self._lock:
            self._listeners.append(listener)
            for name, state in self._states.items():
                listener(name, state)

    def clear(self) -> None:
        """Forget all parts and listeners: their run has ended, and another one follows."""
        with self._lock:
            self._states.clear()
            self._listeners.clear()

    def report(self, name: str, status: PartStatus, error: str = "") -> None:
        """Apply a report of a part; see `advance`."""
        with self._lock:
            before = self._states.get(name)
            if before is None:
                return  # of a run before `clear`
            after = advance(before, status, self._clock.now(), error)
            if after != before:
                self._set(name, after)

    def _set(self, name: str, state: PartState) -> None:
        self._states[name] = state
        for listener in self._listeners:
            listener(name, state)


class Part:
    """Reports the state of one part to its board."""

    def __init__(self, board: PartBoard, name: str) -> None:
        self.name = name
        self._board = board

    def note(self, status: PartStatus) -> None:
        """Report a state without an error."""
        self._board.report(self.name, status)

    def retry(self, error: str) -> None:
        """Report a failed attempt that another one follows."""
        self._board.report(self.name, "retrying", shorten_error(error))

    def fail(self, error: str, status: Literal["failed", "lost"] = "failed") -> None:
        """Report that the part has ended by an error."""
        self._board.report(self.name, status, shorten_error(error))

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Report the work of a thread: `running`, then `stopped`; `failed` with the error that it raises."""
        self.note("running")
        try:
            yield
        except BaseException as error:
            self.fail(describe_error(error))
            raise
        self.note("stopped")


def build_part(name: str) -> Part:
    """Return a part with a board of its own, for an object whose state has no reader."""
    return PartBoard().add(name)


def describe_error(error: BaseException) -> str:
    """Return the message of an error; for one without a message, its type."""
    return str(getattr(error, "message", "") or error) or type(error).__name__


def shorten_error(error: str) -> str:
    """Return an error as operators see it: its first 500 characters, without secrets."""
    return redact_text(error)[:_MAX_ERROR_CHARACTERS]

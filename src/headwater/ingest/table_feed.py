"""Notifies a pipeline of possible new input."""

import threading
from typing import Protocol


class PipelineFeed(Protocol):
    """The feed of a pipeline: the events table, or the table that its own is built from."""

    @property
    def appends(self) -> int:
        """Returns the number of notifications, for use with `wait`."""
        ...

    def wait(self, seen: int, timeout: float) -> None:
        """Blocks until `appends` exceeds `seen`, or `timeout` seconds passed."""
        ...

    def wake(self) -> None:
        """Wakes all waiting threads."""
        ...

    def refresh(self, at_most_every: float = 0) -> None:
        """Detects changes by other processes; does nothing within that many seconds of the last refresh."""
        ...


class TableFeed:
    """Commits of one data table, for the tables that are built from it."""

    def __init__(self) -> None:
        self._appends = 0
        self._changed = threading.Condition()

    @property
    def appends(self) -> int:
        """See `PipelineFeed`."""
        return self._appends

    def wait(self, seen: int, timeout: float) -> None:
        """See `PipelineFeed`."""
        with self._changed:
            self._changed.wait_for(lambda: self._appends > seen, timeout)

    def wake(self) -> None:
        """See `PipelineFeed`."""
        with self._changed:
            self._appends += 1
            self._changed.notify_all()

    def refresh(self, at_most_every: float = 0) -> None:
        """Does nothing: readers of a table load its timeline each time."""

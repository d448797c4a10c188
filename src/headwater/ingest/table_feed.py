"""How a pipeline is told that there may be something new for it."""

import threading
from typing import Protocol


class PipelineFeed(Protocol):
    """What a pipeline waits for: the events table, or the table that its own is built from."""

    @property
    def appends(self) -> int:
        """How often there was something new; to be given to `wait`."""
        ...

    def wait(self, seen: int, timeout: float) -> None:
        """Block until `appends` is more than `seen`, or `timeout` seconds passed."""
        ...

    def wake(self) -> None:
        """Let everyone who waits look again."""
        ...

    def refresh(self, at_most_every: float = 0) -> None:
        """Notice what other processes did; does nothing within so many seconds of the last time."""
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
        """Nothing to do: who follows a table looks at its timeline each time."""

"""`SharedIds`: ids of the events that other processes append to the events table."""

from headwater.capture.event_tail import LATEST, EventTail
from headwater.lake.table import Table
from headwater.lake.timeline import Commit

_BEGINNING = "0" * 17


class SharedIds:
    """Reads the ids of commits that this process has not made. Used by the thread that appends.

    `seen` is the time up to which they are known; commits completed later are read by the next `read_new`.
    """

    def __init__(self, table: Table, tail: EventTail) -> None:
        self._table = table
        self._tail = tail
        self._own: set[str] = set()
        newest = tail.find_newest()
        # Those before are read with the days that they belong to.
        self.seen = newest.completed if newest else _BEGINNING

    def note_own(self, commit: Commit) -> None:
        """Remember a commit whose events this process knows."""
        self._own.add(commit.completed)

    def read_new(self) -> list[tuple[int, str]]:
        """Return window and id of the events that others have committed since the last call."""
        timeline = self._table.load_timeline()
        if not timeline.exists() or not timeline.commits:
            return []
        found = self._tail.read_ids(timeline, self.seen, LATEST, but=self._own)
        self.seen = timeline.commits[-1].completed
        self._own = {completed for completed in self._own if completed > self.seen}
        return [(stored.window, stored.event_id) for stored in found]

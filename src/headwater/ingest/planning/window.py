"""`Window`: the times of modification that a table takes, and which events need no read because of it. Pure.

The time of an object is its store's last-modified time, which listings and reads return alike. A notification
has another one, which is later: in S3, an object is as old as the start of its upload, and a replica as its
original. A notification from before the window therefore needs no read, and any other one does.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.capture.stored_event import StoredEvent
from headwater.config.table import TableConfig
from headwater.ingest.planning.observation import is_from_listing, is_request

OUTSIDE_WINDOW = "outside_window"
"""The reason for skipping an object."""

_CLOCK_MARGIN = timedelta(minutes=5)
"""No notification names a time that is further behind the last-modified time."""


@dataclass(frozen=True, slots=True)
class Window:
    """The half-open interval from `after` to `before`, in whole seconds; None is unlimited.

    Some stores return fractions of a second in listings only, which whole bounds do not distinguish.
    """

    after: datetime | None = None
    before: datetime | None = None

    @property
    def is_limited(self) -> bool:
        """True if not every object is in the window."""
        return self.after is not None or self.before is not None

    def has(self, last_modified: datetime) -> bool:
        """True if the table takes a content that was last modified then."""
        is_early = self.after is not None and last_modified < self.after
        return not is_early and (self.before is None or last_modified < self.before)

    def rules_out(self, stored: StoredEvent) -> bool:
        """True if the content that the event names is certainly outside."""
        event = stored.event
        # A request and the restoration of an archived object have a time of their own.
        if not self.is_limited or is_request(event) or event.kind != "created":
            return False
        if is_from_listing(stored):
            return not self.has(event.event_time)
        # Users set the modification times of files.
        is_late = self.after is None or event.event_time + _CLOCK_MARGIN >= self.after
        return event.provider != "local" and not is_late


EVERYTHING = Window()


def build_window(table: TableConfig) -> Window:
    """Return the window of a table."""
    return Window(table.modified_after, table.modified_before)

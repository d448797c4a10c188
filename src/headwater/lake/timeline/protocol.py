"""The contract of timeline readers."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from headwater.lake.timeline.instants import Instant


class TimelineReader(Protocol):
    """Reads the current timeline of one table; one reader returns one snapshot.

    Contract: both lists contain every action once, in its latest state, in any order. `planned_as` and
    `files` of an instant are internal to the reader. All methods raise `LakeError`.
    """

    def exists(self) -> bool:
        """True if a Hudi table exists at the path; an interrupted creation does not count."""
        ...

    def read_properties(self) -> Mapping[str, str]:
        """Read the table's properties (`hoodie.properties`)."""
        ...

    def list_active(self) -> Sequence[Instant]:
        """List actions that are not archived."""
        ...

    def list_archived(
        self, since: str = "", completed_after: str = "", most: int | None = None
    ) -> Sequence[Instant]:
        """List completed actions of the archive without metadata; some may still be active.

        Only those requested at or after `since` and completed after `completed_after`; of these, only the
        `most` oldest, by request.
        """
        ...

    def find_last_archived(self, since: str) -> str:
        """Return the latest completion time of archived writes; empty for none.

        Complete for writes requested at or after `since`; may include older ones.
        """
        ...

    def read_extra_metadata(self, instants: Sequence[Instant]) -> Mapping[Instant, Mapping[str, str]]:
        """Read the extra metadata of completed writes, active or archived."""
        ...

    def count_deletes(self, instant: Instant) -> int:
        """Return the number of deleted rows that a completed write of the active timeline recorded."""
        ...

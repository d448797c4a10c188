"""What reads a timeline."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from headwater.lake.timeline.instants import Instant


class TimelineReader(Protocol):
    """Reads the timeline of one table as it is now; one reader is one look.

    Contract: both lists have every action once, in its furthest state, in any order. `planned_as` and `files`
    of an instant are the reader's own affair. All methods raise `LakeError`.
    """

    def exists(self) -> bool:
        """Whether a Hudi table lies at the path; one whose creation was interrupted does not."""
        ...

    def read_properties(self) -> Mapping[str, str]:
        """The table's own properties, `hoodie.properties`: what it was made with."""
        ...

    def list_active(self) -> Sequence[Instant]:
        """Actions that have not been archived."""
        ...

    def list_archived(self) -> Sequence[Instant]:
        """Completed actions of the archive, without what they carry; some may be active still."""
        ...

    def read_extra_metadata(self, instants: Sequence[Instant]) -> Mapping[Instant, Mapping[str, str]]:
        """The extra metadata of completed writes, active or archived."""
        ...

    def count_deletes(self, instant: Instant) -> int:
        """Rows that a completed write of the active timeline says it has deleted."""
        ...

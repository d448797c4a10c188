"""What a derived table keeps in its commit metadata: how far it has followed its source, and by what."""

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.ingest.planning.outcome import FOLLOWED


@dataclass(frozen=True, slots=True)
class FollowState:
    """Committed together with the rows; a restart begins from here and from nothing else.

    `as_of` is when the source's commit completed that was seen last; empty before the first. `buckets` is how
    keys get into files, where that is computed.
    """

    as_of: str = ""
    definition: str = ""
    buckets: str = ""

    def to_metadata(self) -> dict[str, str]:
        """Keys of the commit metadata, without the prefix."""
        return {FOLLOWED: self.as_of, "definition": self.definition, "buckets": self.buckets}


def parse_follow_state(metadata: Mapping[str, str] | None) -> FollowState:
    """Inverse of `FollowState.to_metadata`; a table without metadata has seen nothing."""
    found = metadata or {}
    return FollowState(found.get(FOLLOWED, ""), found.get("definition", ""), found.get("buckets", ""))

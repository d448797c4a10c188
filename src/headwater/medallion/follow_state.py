"""The state of a derived table in its commit metadata: its watermark in the source, and its definition."""

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.ingest.planning.outcome import FOLLOWED


@dataclass(frozen=True, slots=True)
class FollowState:
    """The state committed together with the rows; a restart resumes only from it.

    `as_of` is the completion time of the last source commit processed, empty before the first. `buckets`
    describes how keys are assigned to files, if by a bucket index.
    """

    as_of: str = ""
    definition: str = ""
    buckets: str = ""

    def to_metadata(self) -> dict[str, str]:
        """Return the keys of the commit metadata, without the prefix."""
        return {FOLLOWED: self.as_of, "definition": self.definition, "buckets": self.buckets}


def parse_follow_state(metadata: Mapping[str, str] | None) -> FollowState:
    """Parse the result of `FollowState.to_metadata`; without metadata, nothing has been processed."""
    found = metadata or {}
    return FollowState(found.get(FOLLOWED, ""), found.get("definition", ""), found.get("buckets", ""))

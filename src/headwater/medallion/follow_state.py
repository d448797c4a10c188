"""The state of a derived table in its commit metadata: its watermark in each source, and its definition."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headwater.ingest.planning.outcome import FOLLOWED


@dataclass(frozen=True, slots=True)
class FollowState:
    """The state committed together with the rows; a restart resumes only from it.

    `as_of` is the completion time of the last commit processed of each source, empty before the first.
    `buckets` describes how keys are assigned to files, if by a bucket index.
    """

    as_of: Mapping[str, str] = field(default_factory=dict)
    definition: str = ""
    buckets: str = ""

    def to_metadata(self) -> dict[str, str]:
        """Return the keys of the commit metadata, without the prefix."""
        return {
            FOLLOWED: write_watermarks(self.as_of),
            "definition": self.definition,
            "buckets": self.buckets,
        }


def parse_follow_state(metadata: Mapping[str, str] | None, sources: Sequence[str]) -> FollowState:
    """Parse the result of `FollowState.to_metadata`; without metadata, nothing has been processed."""
    found = metadata or {}
    as_of = parse_watermarks(found.get(FOLLOWED, ""), sources)
    return FollowState(as_of, found.get("definition", ""), found.get("buckets", ""))


def write_watermarks(as_of: Mapping[str, str]) -> str:
    """Return completion times by source as one text: that of a single source alone, else a JSON object."""
    return next(iter(as_of.values())) if len(as_of) == 1 else json.dumps(as_of, sort_keys=True)


def parse_watermarks(text: str, sources: Sequence[str]) -> dict[str, str]:
    """Parse the result of `write_watermarks`, for these sources. Omits those that it does not contain."""
    if text.startswith("{"):
        found = json.loads(text)
        return {source: found[source] for source in sources if source in found}
    return {sources[0]: text} if text and len(sources) == 1 else {}

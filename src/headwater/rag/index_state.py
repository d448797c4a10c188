"""Metadata in each commit of the chunks table, for the next run and for readers without Spark. Pure."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

METADATA_PREFIX = "index-"
"""Prefix of the key in the commit's metadata; the fingerprint follows."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """The state of an index after a run.

    `as_of` is the completion time of the data table's newest indexed commit. `selection` identifies the
    selected rows and fields. Tombstones of chunks deleted before `purged`, a completion time, may have been
    removed. `kinds` are the kinds of fields. The counts are totals of all runs.
    """

    table_id: str
    as_of: str
    selection: str
    revision: int
    dimensions: int
    model: str
    purged: str = ""
    kinds: Mapping[str, str] = field(default_factory=dict)
    embedded: int = 0
    reused: int = 0

    def to_metadata(self, fingerprint: str) -> dict[str, str]:
        """Return the keys of the commit metadata, without headwater's prefix."""
        return {metadata_key(fingerprint): json.dumps(asdict(self), sort_keys=True)}


def metadata_key(fingerprint: str) -> str:
    """Return the metadata key of one fingerprint."""
    return f"{METADATA_PREFIX}{fingerprint}"


def parse_index_state(metadata: Mapping[str, str] | None, fingerprint: str) -> IndexState | None:
    """Parse the output of `IndexState.to_metadata`; None when the fingerprint has no entry."""
    text = (metadata or {}).get(metadata_key(fingerprint))
    return IndexState(**json.loads(text)) if text else None

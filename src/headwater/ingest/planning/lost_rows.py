"""Rows that an erasure deleted, by the write of their object: `verify` accounts for them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LostRows:
    """The `rows` of one subject that an erasure deletes of one write of an object.

    `instant` is the newest commit before the delete: later decisions about the object already lack the rows.
    """

    uri: str
    version: str
    event_id: str
    subject: str
    rows: int
    instant: str


def sum_lost(rows: Sequence[LostRows], version: str, decided_at: str) -> Mapping[str, int]:
    """Return by event how many rows of a version were deleted since the decision at that instant."""
    found: dict[str, int] = {}
    for one in rows:
        if one.version == version and decided_at <= one.instant:
            found[one.event_id] = found.get(one.event_id, 0) + one.rows
    return found

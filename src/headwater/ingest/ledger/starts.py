"""Where tables with `start_from: latest` begin, until their first commit records it. Pure.

Each commit of the ledger carries the starts of all tables. Whatever commits a process has read, in whatever
order, the earlier of two starts of a table counts: no event after it may be omitted.
"""

import json
from collections.abc import Mapping

from headwater.capture.position import Position

STARTS_KEY = "starts"
"""Key in the metadata of the ledger's commits."""

Starts = Mapping[str, Position]
"""By table."""


def merge_starts(some: Starts, others: Starts) -> dict[str, Position]:
    """Return the earliest start of each table. Idempotent, and independent of the order."""
    return {
        table: min(start for start in (some.get(table), others.get(table)) if start is not None)
        for table in some.keys() | others.keys()
    }


def format_starts(starts: Starts) -> str:
    """Format them for a commit's metadata."""
    return json.dumps({table: start.to_text() for table, start in starts.items()}, sort_keys=True)


def parse_starts(text: str) -> dict[str, Position]:
    """Parse the output of `format_starts`. Raises `ValueError`."""
    return {table: Position.parse(start) for table, start in json.loads(text).items()}

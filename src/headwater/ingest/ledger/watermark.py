"""`Watermark`: the ledger's watermark for a data table. Pure.

Several processes write the ledger, each for its own tables. Each commit carries the watermarks of all tables
that its process knows of, and only a table's writer raises the number of its watermark. Whatever commits a
process has read, in whatever order, the higher number is newer.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from headwater.capture.position import BEGINNING, Position


@dataclass(frozen=True, slots=True)
class Watermark:
    """The ledger includes the table's commits completed up to `commit`, whose checkpoint is `position`.
    `has_unconfirmed`: content was found by a read or a listing, and may still lack its notification.
    """

    commit: str = ""
    position: Position = BEGINNING
    has_unconfirmed: bool = False


NOTHING_KNOWN = Watermark()
"""That of a table of which the ledger has no states."""


@dataclass(frozen=True, slots=True)
class NumberedWatermark:
    """A watermark, and how many a table had up to it."""

    number: int
    watermark: Watermark


Watermarks = Mapping[str, NumberedWatermark]
"""By table."""


def merge_watermarks(some: Watermarks, others: Watermarks) -> dict[str, NumberedWatermark]:
    """Return the newest watermark of each table. Idempotent, and independent of the order."""
    merged = dict(some)
    for table, found in others.items():
        if table not in merged or merged[table].number < found.number:
            merged[table] = found
    return merged


def with_next(known: Watermarks, table: str, watermark: Watermark) -> dict[str, NumberedWatermark]:
    """Return `known` with the table's next watermark."""
    number = known[table].number + 1 if table in known else 1
    return {**known, table: NumberedWatermark(number, watermark)}


def find_watermark(known: Watermarks, table: str) -> Watermark:
    """Return a table's watermark, `NOTHING_KNOWN` without one."""
    return known[table].watermark if table in known else NOTHING_KNOWN


def format_watermarks(known: Watermarks) -> str:
    """Format them for a commit's metadata."""
    texts = {
        table: (of.commit, of.position.to_text(), of.has_unconfirmed, found.number)
        for table, found in known.items()
        for of in (found.watermark,)
    }
    return json.dumps(texts, sort_keys=True)


def parse_watermarks(text: str) -> dict[str, NumberedWatermark]:
    """Parse the output of `format_watermarks`. Those of earlier releases have no number: any is newer."""
    return {
        table: NumberedWatermark(
            number[0] if number else 0, Watermark(commit, Position.parse(position), has_unconfirmed)
        )
        for table, (commit, position, has_unconfirmed, *number) in json.loads(text).items()
    }

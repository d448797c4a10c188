"""What `headwater adopt` is asked for, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(slots=True)
class ImportReport:
    """`duplicates` are rows of events that the lake has already, `rejected` rows are in quarantine."""

    events: int = 0
    duplicates: int = 0
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class AdoptRequest:
    """`events` is the address of HoodieStreamer's events table. `checkpoints` replace those of the tables."""

    tables: tuple[str, ...] = ()
    events: str = ""
    checkpoints: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class AdoptedTable:
    """One table. Of the old events, its job has processed `processed`, and the next run processes `pending`.
    Both are None for jobs without an events table."""

    table: str
    status: Literal["to adopt", "adopted", "adopted before"]
    checkpoint: str = ""
    processed: int | None = None
    pending: int | None = None


@dataclass(slots=True)
class AdoptReport:
    """What was done, or would be. `events` are None without an old events table."""

    tables: list[AdoptedTable]
    events: ImportReport | None = None

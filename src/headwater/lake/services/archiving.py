"""Archiving: moves old instants off the active timeline, which every reader and writer loads."""

import time
from dataclasses import dataclass

from headwater.lake.options import archiving_options
from headwater.lake.service_table import ServiceTable


@dataclass(frozen=True, slots=True)
class ArchiveResult:
    """The number of completed writes on the active timeline before and after."""

    before: int
    after: int
    seconds: float


def archive(table: ServiceTable, keep: int | None = None) -> ArchiveResult:
    """Keep about `keep` commits active (default: as configured), never fewer than the cleaner needs.

    Raises `LakeError`.
    """
    started = time.monotonic()
    before = count_active(table)
    with table.open_client({} if keep is None else archiving_options(keep)) as client:
        client.archive()
    return ArchiveResult(before, count_active(table), time.monotonic() - started)


def count_active(table: ServiceTable) -> int:
    """Count the completed writes on the active timeline. Raises `LakeError`."""
    return len(table.load_timeline().commits)

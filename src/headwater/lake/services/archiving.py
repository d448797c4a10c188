"""Archiving: old instants leave the active timeline, which every reader and writer goes through."""

import time
from dataclasses import dataclass

from headwater.lake.options import archiving_options
from headwater.lake.service_table import ServiceTable


@dataclass(frozen=True, slots=True)
class ArchiveResult:
    """Completed writes on the active timeline before and after."""

    before: int
    after: int
    seconds: float


def archive(table: ServiceTable, keep: int | None = None) -> ArchiveResult:
    """Leave about `keep` commits on the active timeline, or what the table's own options say; never fewer
    than the cleaner still needs.

    Raises `LakeError`.
    """
    started = time.monotonic()
    before = count_active(table)
    with table.open_client({} if keep is None else archiving_options(keep)) as client:
        client.archive()
    return ArchiveResult(before, count_active(table), time.monotonic() - started)


def count_active(table: ServiceTable) -> int:
    """Completed writes on the active timeline now. Raises `LakeError`."""
    return len(table.load_timeline().commits)

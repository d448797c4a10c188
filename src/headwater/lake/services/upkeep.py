"""Upkeep: what a table needs now that its writer leaves to others."""

import time
from dataclasses import dataclass

from headwater.lake.services.archiving import ArchiveResult, archive
from headwater.lake.services.cleaning import CleanPolicy, CleanResult, clean
from headwater.lake.services.result import ServiceResult
from headwater.lake.services.service_table import ServiceTable, list_requested, plan_and_execute


@dataclass(frozen=True, slots=True)
class Duty:
    """`plans`: also compactions that nobody has planned yet, when they are due. `cleans`: superseded files,
    writes that were never completed, and old instants go."""

    plans: bool = False
    cleans: bool = False


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What was done to one table; `cleaned` and `archived` are None where its writer does that."""

    table: str
    compacted: ServiceResult
    clustered: ServiceResult
    cleaned: CleanResult | None
    archived: ArchiveResult | None
    seconds: float

    @property
    def is_idle(self) -> bool:
        """Whether there was nothing to do."""
        is_clean = self.cleaned is None or not self.cleaned.instant
        is_short = self.archived is None or self.archived.before == self.archived.after
        return not self.compacted.instants and not self.clustered.instants and is_clean and is_short


def look_after(table: ServiceTable, duty: Duty) -> Upkeep:
    """One pass: plans that are waiting first, then what is due. Raises `LakeError`.

    When something is due is for the table's own options to say (`ServiceTable.extra`).
    """
    started = time.monotonic()
    meta_client = table.load_meta_client()
    timeline = meta_client.getActiveTimeline()
    is_merged = str(meta_client.getTableType().name()) == "MERGE_ON_READ"
    with table.open_client({}) as client:
        none = table.java.build_none
        compacted = plan_and_execute(
            list_requested(timeline.filterPendingCompactionTimeline()),
            lambda: client.scheduleCompaction(none()) if duty.plans and is_merged else none(),
            lambda instant: client.compact(instant, True),
        )
        clustered = plan_and_execute(
            list_requested(timeline.filterPendingClusteringTimeline()),
            none,
            lambda instant: client.cluster(instant, True),
        )
    cleaned = clean(table, CleanPolicy()) if duty.cleans else None
    archived = archive(table) if duty.cleans else None
    return Upkeep(table.address.name, compacted, clustered, cleaned, archived, time.monotonic() - started)

"""Upkeep: what a table needs now that its writer leaves to others."""

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from headwater.lake.damage import ensure_whole
from headwater.lake.indexes.building import BuiltIndex
from headwater.lake.indexes.keeping import keep_indexed
from headwater.lake.service_result import ServiceResult
from headwater.lake.service_table import ServiceTable, plan_and_execute
from headwater.lake.services.archiving import ArchiveResult, archive
from headwater.lake.services.cleaning import CleanPolicy, CleanResult, clean
from headwater.lake.services.clustering import keep_clustered
from headwater.lake.services.expiry import Expiry, expire_partitions


@dataclass(frozen=True, slots=True)
class Duty:
    """`plans`: also compactions that nobody has planned yet, when they are due; clusterings, too, while fewer
    than `clusters` wait. `cleans`: superseded files, writes that were never completed, and old instants go.
    `expires`: and so do old partitions. `indexes`: statistics of columns are built when they are not
    there."""

    plans: bool = False
    clusters: int = 0
    cleans: bool = False
    expires: bool = False
    indexes: bool = False


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What was done to one table; `cleaned` and `archived` are None where its writer does that. Clusterings
    `given_up` are those whose files a writer had changed since they were planned."""

    table: str
    compacted: ServiceResult
    clustered: ServiceResult
    cleaned: CleanResult | None
    archived: ArchiveResult | None
    seconds: float
    expired: Expiry | None = None
    given_up: tuple[str, ...] = ()
    indexed: tuple[BuiltIndex, ...] = ()

    @property
    def is_idle(self) -> bool:
        """Whether there was nothing to do."""
        is_clean = self.cleaned is None or not self.cleaned.instant
        is_short = self.archived is None or self.archived.before == self.archived.after
        is_kept = self.expired is None or not self.expired.instant
        is_planned = bool(self.compacted.instants or self.clustered.instants or self.given_up)
        return not (is_planned or self.indexed) and is_clean and is_short and is_kept


def look_after(table: ServiceTable, duty: Duty) -> Upkeep:
    """One pass: plans that are waiting first, then what is due. Raises `LakeError`: a `TableDamagedError`
    before a compaction that would make the loss of rows last.

    When something is due is for the table's own options to say (`ServiceTable.extra`).
    """
    started = time.monotonic()
    meta_client = table.load_meta_client()
    is_merged = str(meta_client.getTableType().name()) == "MERGE_ON_READ"
    with table.open_client({}) as client:
        none = table.java.build_none

        def compact(instant: str) -> Any:
            ensure_whole(table.address)
            return client.compact(instant, True)

        compacted = plan_and_execute(
            table.load_timeline().list_pending("compaction"),
            lambda: client.scheduleCompaction(none()) if duty.plans and is_merged else none(),
            compact,
        )
    clustered = keep_clustered(table, duty.clusters)
    expired = expire_partitions(table, datetime.now(timezone.utc)) if duty.expires else None
    cleaned = clean(table, CleanPolicy()) if duty.cleans else None
    archived = archive(table) if duty.cleans else None
    # After cleaning: it waits for every write that was begun, and those of killed writers are gone now.
    indexed = keep_indexed(table) if duty.indexes else ()
    seconds = time.monotonic() - started
    return Upkeep(
        table=table.address.name,
        compacted=compacted,
        clustered=clustered.done,
        cleaned=cleaned,
        archived=archived,
        seconds=seconds,
        expired=expired,
        given_up=clustered.given_up,
        indexed=indexed,
    )

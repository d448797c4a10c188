"""Maintenance: the table services that a table's writer leaves to other processes."""

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from headwater.lake.damage import ensure_intact
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
    """The services to run.

    `plans` also plans due compactions; `clusters` also plans clusterings while fewer than that many are
    pending. `cleans` deletes superseded files and aborted writes, and archives old instants. `expires`
    deletes old partitions. `indexes` builds missing column statistics.
    """

    plans: bool = False
    clusters: int = 0
    cleans: bool = False
    expires: bool = False
    indexes: bool = False


@dataclass(frozen=True, slots=True)
class Maintenance:
    """The result for one table; `cleaned` and `archived` are None if its writer cleans and archives itself.

    `given_up` are clustering plans whose files a writer had updated since.
    """

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
        """True if there was nothing to do."""
        is_clean = self.cleaned is None or not self.cleaned.instant
        is_short = self.archived is None or self.archived.before == self.archived.after
        is_kept = self.expired is None or not self.expired.instant
        is_planned = bool(self.compacted.instants or self.clustered.instants or self.given_up)
        return not (is_planned or self.indexed) and is_clean and is_short and is_kept


def run_due_services(table: ServiceTable, duty: Duty) -> Maintenance:
    """Execute pending plans, then all due services, once.

    The table's own options (`ServiceTable.extra`) decide what is due. Raises `LakeError`, and
    `TableDamagedError` before a compaction that would make a loss of rows permanent.
    """
    started = time.monotonic()
    meta_client = table.load_meta_client()
    is_merged = str(meta_client.getTableType().name()) == "MERGE_ON_READ"
    with table.open_client({}) as client:
        none = table.java.build_none

        def compact(instant: str) -> Any:
            ensure_intact(table.address)
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
    # Build indexes after cleaning: the build waits for every pending write, and cleaning rolls back those of
    # killed writers.
    indexed = keep_indexed(table) if duty.indexes else ()
    seconds = time.monotonic() - started
    return Maintenance(
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

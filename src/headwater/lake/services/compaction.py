"""Compaction: merges the log files of a merge-on-read table into base files."""

from headwater.errors import UsageError
from headwater.lake.damage import ensure_intact
from headwater.lake.layout import TableAddress
from headwater.lake.service_result import Candidates, ServiceResult
from headwater.lake.service_table import ServiceTable, plan_and_execute
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.typed_options.services import compaction_options, log_compaction_options


def plan_compaction(address: TableAddress) -> Candidates:
    """Find the log files that a compaction would merge now; without a JVM.

    Raises `UsageError` for a copy-on-write table, and `LakeError`.
    """
    reader = SnapshotReader(address.path, address.storage_options)
    _check_type(address.name, reader.hudi_table.table_type)
    slices = [found for found in reader.list_slices() if found.has_log_files()]
    return Candidates(
        partitions=len({found.partition_path for found in slices}),
        file_groups=len(slices),
        files=sum(len(found.log_file_names) for found in slices),
        bytes=sum(sum(found.log_file_sizes) for found in slices),
        pending=reader.list_pending("compaction"),
    )


def compact(table: ServiceTable, *, accept_loss: bool = False) -> ServiceResult:
    """Execute pending compaction plans of killed services, then compact all file groups with logs.

    A compaction makes the loss of a truncated log file permanent, and therefore requires `accept_loss`.
    Raises `UsageError` for a copy-on-write table, `TableDamagedError` and other `LakeError`s.
    """
    meta_client = table.load_meta_client()
    _check_type(table.address.name, meta_client.getTableType().name())
    if not accept_loss:
        ensure_intact(table.address)
    pending = table.load_timeline().list_pending("compaction")
    with table.open_client(compaction_options()) as client:
        return plan_and_execute(
            pending,
            lambda: client.scheduleCompaction(table.java.build_none()),
            lambda instant: client.compact(instant, True),
        )


_FEWEST_BLOCKS = 2


def compact_logs(table: ServiceTable) -> ServiceResult:
    """Merge the log files of each file group into one: readers merge less, base files stay unchanged.

    Executes pending plans of killed services first. Raises `UsageError` for a copy-on-write table,
    `TableDamagedError` and other `LakeError`s.
    """
    meta_client = table.load_meta_client()
    _check_type(table.address.name, meta_client.getTableType().name())
    ensure_intact(table.address)
    pending = table.load_timeline().list_pending("logcompaction")
    with table.open_client(log_compaction_options(_FEWEST_BLOCKS)) as client:
        return plan_and_execute(
            pending,
            lambda: client.scheduleLogCompaction(table.java.build_none()),
            lambda instant: client.logCompact(instant, True),
        )


def _check_type(name: str, table_type: object) -> None:
    if str(table_type) != "MERGE_ON_READ":
        raise UsageError(
            f"table {name} is copy-on-write: it has no log files to compact",
            hint="`cluster` rewrites small files into larger ones, `clean` deletes superseded files",
        )

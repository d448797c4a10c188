"""Clustering: rewrites small files into larger, sorted ones, so that queries skip most of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headwater.errors import UsageError, WriteConflictError
from headwater.lake.jvm import explained_lake
from headwater.lake.layout import TableAddress
from headwater.lake.service_result import Candidates, ServiceResult, sum_results
from headwater.lake.service_table import (
    ServiceTable,
    execute_plan,
    plan_and_execute,
)
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.typed_options.clustering import (
    PLANNED_BY_WORKER,
    Layout,
    clustering_options,
    find_small_bytes,
)

_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """How to cluster: files below four fifths of `target_bytes` are rewritten into files of about that size.

    `sort` are the sort columns: `linear` sorts by the first, then the next; `z-order` and `hilbert` weight
    all equally. `partitions` are paths, empty for all.
    """

    sort: tuple[str, ...] = ()
    layout: Layout = "linear"
    target_bytes: int = 128 * _MEGABYTE
    partitions: tuple[str, ...] = ()

    @property
    def small_bytes(self) -> int:
        """The file size in bytes from which files are not rewritten."""
        return find_small_bytes(self.target_bytes)


@dataclass(frozen=True, slots=True)
class Clustered:
    """The result of a clustering. `given_up` are the instants of plans that were canceled without changing
    rows, because a writer had updated their files."""

    done: ServiceResult
    given_up: tuple[str, ...] = ()


def plan_clustering(address: TableAddress, options: ClusterOptions) -> Candidates:
    """Find the base files that a clustering would rewrite now; without a JVM. Raises `LakeError`.

    Like Hudi, skips file groups with logs.
    """
    reader = SnapshotReader(address.path, address.storage_options)
    small = [
        found
        for found in reader.list_slices()
        if not found.has_log_files()
        and found.base_file_size < options.small_bytes
        and (not options.partitions or found.partition_path in options.partitions)
    ]
    return Candidates(
        partitions=len({found.partition_path for found in small}),
        file_groups=len(small),
        files=len(small),
        bytes=sum(found.base_file_size for found in small),
        pending=reader.list_pending("clustering"),
    )


def count_small_files(address: TableAddress, options: ClusterOptions) -> Counter[str]:
    """Count the files that a clustering would rewrite, by partition path; without a JVM.

    Raises `LakeError`.
    """
    slices = SnapshotReader(address.path, address.storage_options).list_slices()
    return Counter(found.partition_path for found in slices if found.base_file_size < options.small_bytes)


def cluster(table: ServiceTable, options: ClusterOptions) -> ServiceResult:
    """Execute pending clustering plans of killed services, then cluster.

    Raises `LakeError`. Raises `UsageError` for unknown columns and partitions, and for a bucket index, which
    fixes the files.
    """
    _check(table.address, options)
    pending = table.load_timeline().list_pending("clustering")
    built = clustering_options(
        options.sort, options.layout, options.small_bytes, options.target_bytes, options.partitions
    )
    with table.open_client(built) as client:
        return plan_and_execute(
            pending,
            lambda: client.scheduleClustering(table.java.build_none()),
            lambda instant: client.cluster(instant, True),
        )


def keep_clustered(table: ServiceTable, most_pending: int = 0) -> Clustered:
    """Execute pending plans, then plan and execute another one if it is due.

    Plans only while fewer than `most_pending` are pending; 0 never plans. The table's own options decide when
    clustering is due and what is clustered. Raises `LakeError`.
    """
    done: list[ServiceResult] = []
    given_up: list[str] = []
    with table.open_client(PLANNED_BY_WORKER if most_pending else {}) as client:
        _carry_out(table, client, table.load_timeline().list_pending("clustering"), done, given_up)
        if len(table.load_timeline().list_pending("clustering")) < most_pending:
            planned = client.scheduleClustering(table.java.build_none())
            if planned.isPresent():
                _carry_out(table, client, [str(planned.get())], done, given_up)
    return Clustered(sum_results(done), tuple(given_up))


def _carry_out(
    table: ServiceTable, client: Any, instants: Sequence[str], done: list[ServiceResult], given_up: list[str]
) -> None:
    for instant in instants:
        try:
            with explained_lake(table.address.path):
                done.append(execute_plan(lambda at: client.cluster(at, True), instant))
        except WriteConflictError:
            # A writer updated these files first, and the plan would fail on each attempt.
            client.purgePendingClustering(instant)
            given_up.append(instant)


def _check(address: TableAddress, options: ClusterOptions) -> None:
    reader = SnapshotReader(address.path, address.storage_options)
    unknown = [name for name in options.sort if name not in reader.schema.names]
    if unknown:
        shown = ", ".join(name for name in reader.schema.names if not name.startswith("_hoodie_"))
        raise UsageError(
            f"table {address.name} has no column {', '.join(unknown)} to sort by", hint=f"columns: {shown}"
        )
    slices = reader.list_slices() if options.partitions else []
    known = sorted({found.partition_path for found in slices})
    missing = [path for path in options.partitions if path not in known]
    if missing:
        raise UsageError(
            f"table {address.name} has no partition {', '.join(missing)}",
            hint=f"partitions: {', '.join(known[:20])}",
        )

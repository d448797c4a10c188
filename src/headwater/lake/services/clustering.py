"""Clustering: small files become large ones, sorted so that queries skip most of them."""

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
    """Files below four fifths of `target_bytes` are rewritten into files of about that, in the order of the
    columns `sort`: `linear` by the first and then the others, `z-order` and `hilbert` by all alike.
    `partitions` are paths; all for none."""

    sort: tuple[str, ...] = ()
    layout: Layout = "linear"
    target_bytes: int = 128 * _MEGABYTE
    partitions: tuple[str, ...] = ()

    @property
    def small_bytes(self) -> int:
        """Files from this size on stay as they are."""
        return find_small_bytes(self.target_bytes)


@dataclass(frozen=True, slots=True)
class Clustered:
    """What was clustered. `given_up` are the instants of plans of whose files a writer had changed some
    meanwhile: they are not planned any more, and no row is touched."""

    done: ServiceResult
    given_up: tuple[str, ...] = ()


def plan_clustering(address: TableAddress, options: ClusterOptions) -> Candidates:
    """The base files that a clustering would find small now; without a JVM. Raises `LakeError`.

    File groups with logs are left out, as Hudi leaves them out.
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


def cluster(table: ServiceTable, options: ClusterOptions) -> ServiceResult:
    """Cluster; first what a service that was killed has planned.

    Raises `UsageError` for columns and partitions that the table does not have and for a table with a
    bucket index, whose files are given, and `LakeError`.
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
    """Carry out the plans that wait, and plan and carry out a further one when it is due and fewer than
    `most_pending` still wait; 0 leaves planning to others.

    When it is due, and what is clustered, is for the table's own options to say. Raises `LakeError`.
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
            # The writer has been first, and the plan would fail of its rows each time.
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

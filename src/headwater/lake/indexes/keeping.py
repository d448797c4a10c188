"""Builds the configured column statistics that a table lacks, concurrently with its writer.

Hudi plans the build under the lock, indexes the existing files and catches up with later commits. Writers
that commit during the build update the index. The leftovers of a killed builder are dropped.
"""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from headwater.errors import LakeError
from headwater.lake.index_definitions import COLUMN_STATS, FILES, shorten
from headwater.lake.indexes.building import BuiltIndex, drop_indexes
from headwater.lake.jvm import explained_lake
from headwater.lake.options import TABLE_PROPERTY_KEYS
from headwater.lake.service_table import ServiceTable
from headwater.lake.timeline.jvm import load_timeline

_POLL_SECONDS = 0.1


def keep_indexed(table: ServiceTable) -> tuple[BuiltIndex, ...]:
    """Run planned index builds, then build missing column statistics. Raises `LakeError`.

    Does nothing before the writer's first commit with a metadata table. Requires options with a lock that the
    table's writers also use.
    """
    if FILES not in _list_partitions(table, "metadata_partitions"):
        return ()
    left = _list_partitions(table, "metadata_partitions_building")
    if left:
        # Only one process builds at a time, so these are leftovers of a killed builder.
        drop_indexes(table, left)
    built = [_build(table, instant) for instant in table.load_timeline().list_pending("indexing")]
    if COLUMN_STATS not in _list_partitions(table, "metadata_partitions"):
        with table.open_client({}) as client:
            planned = client.scheduleIndexing(
                table.java.list_index_kinds([COLUMN_STATS]), table.java.build_list([])
            )
        if planned.isPresent():
            built.append(_build(table, str(planned.get())))
    return tuple(index for indexes in built for index in indexes)


def _build(table: ServiceTable, instant: str) -> list[BuiltIndex]:
    started = time.monotonic()
    with table.open_client({}) as client, ThreadPoolExecutor(1) as pool:
        # Hold the lock until the first index files exist. A write that commits after Hudi registers the build
        # and before these files exist would fail.
        with table.java.hold_lock(client, table.load_meta_client()):
            begun = _list_metadata_commits(table)
            task = pool.submit(client.index, instant)
            _wait_for_files(table, task, begun)
        done = task.result()
        if not done.isPresent():
            raise LakeError(
                f"table {table.address.name}: the index planned at {instant} was not built",
                hint=f"`headwater table {table.address.name} index repair` removes the plan",
            )
        names = [str(info.getMetadataPartitionPath()) for info in done.get().getIndexPartitionInfos()]
    seconds = time.monotonic() - started
    return [BuiltIndex(shorten(name), name, seconds) for name in names]


def _wait_for_files(table: ServiceTable, task: "Future[Any]", begun: set[str]) -> None:
    # The first commit to an index starts after its files exist.
    while not task.done() and _list_metadata_commits(table) <= begun:
        time.sleep(_POLL_SECONDS)


def _list_metadata_commits(table: ServiceTable) -> set[str]:
    active = load_timeline(table.spark, f"{table.address.path}/.hoodie/metadata").active
    return {instant.requested for instant in active if instant.action == "deltacommit"}


def _list_partitions(table: ServiceTable, name: str) -> list[str]:
    meta_client = table.load_meta_client()
    with explained_lake(table.address.path):
        text = table.java.read_map(meta_client.getTableConfig().propsMap()).get(TABLE_PROPERTY_KEYS[name], "")
    return [partition for partition in text.split(",") if partition]

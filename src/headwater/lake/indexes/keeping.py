"""Statistics of columns that a table is to have and has not yet, built beside its writer.

Hudi plans them under the lock, builds them from the files that there are by then, and catches up with the
commits since; writers that commit meanwhile add to them. What a killed builder leaves is dropped.
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

_LOOK_SECONDS = 0.1


def keep_indexed(table: ServiceTable) -> tuple[BuiltIndex, ...]:
    """Carry out what somebody has planned, then build statistics of columns where there are none; nothing
    before the writer's first commit with a metadata table. Needs options with a lock that the table's writers
    take, too. Raises `LakeError`."""
    if FILES not in _list_partitions(table, "metadata_partitions"):
        return ()
    left = _list_partitions(table, "metadata_partitions_building")
    if left:
        # Only one builds at a time: this is of one that was killed.
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
        # A write that commits between the moment in which Hudi writes an index down as begun, and the one in
        # which its first files are there, fails of it: nobody commits until then.
        with table.java.hold_lock(client, table.load_meta_client()):
            begun = _list_metadata_commits(table)
            task = pool.submit(client.index, instant)
            _wait_for_files(table, task, begun)
        done = task.result()
        if not done.isPresent():
            raise LakeError(
                f"table {table.address.name}: the index planned at {instant} was not built",
                hint=f"`headwater table {table.address.name} index repair` takes the plan back",
            )
        names = [str(info.getMetadataPartitionPath()) for info in done.get().getIndexPartitionInfos()]
    seconds = time.monotonic() - started
    return [BuiltIndex(shorten(name), name, seconds) for name in names]


def _wait_for_files(table: ServiceTable, task: "Future[Any]", begun: set[str]) -> None:
    # The first commit to an index begins when its files are there.
    while not task.done() and _list_metadata_commits(table) <= begun:
        time.sleep(_LOOK_SECONDS)


def _list_metadata_commits(table: ServiceTable) -> set[str]:
    active = load_timeline(table.spark, f"{table.address.path}/.hoodie/metadata").active
    return {instant.requested for instant in active if instant.action == "deltacommit"}


def _list_partitions(table: ServiceTable, name: str) -> list[str]:
    meta_client = table.load_meta_client()
    with explained_lake(table.address.path):
        text = table.java.read_map(meta_client.getTableConfig().propsMap()).get(TABLE_PROPERTY_KEYS[name], "")
    return [partition for partition in text.split(",") if partition]

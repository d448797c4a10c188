"""Creates, drops, rebuilds and repairs indexes of the metadata table; no other writer may run concurrently.

`planning.py` validates each operation first, because Hudi validates little, and late.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from headwater.errors import LakeError
from headwater.lake.index_functions import FUNCTION_OPTION
from headwater.lake.indexes.planning import PlannedIndex
from headwater.lake.jvm import IndexCall, explained_lake
from headwater.lake.options import building_options
from headwater.lake.service_table import ServiceTable


@dataclass(frozen=True, slots=True)
class BuiltIndex:
    """An index that exists now."""

    name: str
    partition: str
    seconds: float


def build_index(table: ServiceTable, plan: PlannedIndex) -> BuiltIndex:
    """Build the index now. Raises `LakeError`.

    After a failure, no trace of the index remains and the table stays writable.
    """
    started = time.monotonic()
    try:
        _build(table, plan)
    except LakeError as error:
        _take_back(table, plan, error)
        raise
    return BuiltIndex(plan.name, plan.partition, time.monotonic() - started)


def drop_indexes(table: ServiceTable, partitions: Sequence[str]) -> None:
    """Remove indexes, complete or broken, by their partitions of the metadata table; no rows change.

    Raises `LakeError`.
    """
    meta_client = table.load_meta_client()
    with explained_lake(table.address.path):
        # Delete all definitions first: Hudi builds every defined index before it drops any.
        for partition in partitions:
            table.java.delete_index_definition(meta_client, partition)
        table.java.delete_pending_indexing(meta_client)
    with table.open_client(building_options(table.extra, without=partitions)) as client:
        client.dropIndex(table.java.build_list(list(partitions)))


def rebuild_index(table: ServiceTable, plan: PlannedIndex) -> BuiltIndex:
    """Drop the index and rebuild it from the table's files. Raises `LakeError`."""
    drop_indexes(table, [plan.partition])
    return build_index(table, plan)


def _build(table: ServiceTable, plan: PlannedIndex) -> None:
    if plan.type in ("secondary", "expression"):
        kind = "secondary_index" if plan.type == "secondary" else plan.statistics
        function = plan.options.get(FUNCTION_OPTION, "identity")
        call = IndexCall(plan.partition, kind, function, plan.columns, plan.options)
        meta_client = table.load_meta_client()
        with explained_lake(table.address.path):
            table.java.define_index(meta_client, call)
    # Hudi's own command targets tables with concurrent writers. It requires a lock, and after a failure its
    # leftovers on the timeline block the next attempt. A write client builds missing indexes instead.
    with table.open_client(building_options(table.extra, plan.partition)) as client:
        table.java.build_metadata(client)


def _take_back(table: ServiceTable, plan: PlannedIndex, error: LakeError) -> None:
    try:
        drop_indexes(table, [plan.partition])
    except LakeError as second:
        raise LakeError(
            f"{error.message}; the incomplete index {plan.name} could not be removed: {second.message}",
            hint=f"`headwater table {table.address.name} index repair` removes it",
        ) from error

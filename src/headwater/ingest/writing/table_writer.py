"""Writes one batch to its data table: new and retracted rows, with the checkpoint, in one commit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from headwater.config.table import TableConfig
from headwater.config.table.column_types import list_column_types
from headwater.config.table.typed_options import list_typed_options
from headwater.ingest.changes.rules import SEQUENCE
from headwater.ingest.columns.conforming import conform_frame
from headwater.ingest.evolution.rescued_data import add_file_path
from headwater.ingest.lineage import (
    EVENT_ID,
    EVENT_TIME,
    LINEAGE_TYPES,
    OBJECT,
    ROW,
    SOURCE_KEY,
    SOURCE_ROW,
    build_lineage,
    with_lineage,
)
from headwater.ingest.planning.batch_tasks import count_write_tasks, estimate_size
from headwater.ingest.planning.file_sizes import choose_small_file_limit
from headwater.ingest.reading.batch_read import BatchRead
from headwater.ingest.writing.backlog import check_backlog, has_limits
from headwater.ingest.writing.index_choice import IndexChoice
from headwater.ingest.writing.record_keys import are_keys_unique, keep_last
from headwater.ingest.writing.retraction import OutdatedRows, build_deletes, read_stored
from headwater.ingest.writing.set_rows import (
    VALID_FROM,
    SetDifference,
    SetVersion,
    choose_current,
    compare_with_set,
)
from headwater.lake.executors import count_cores
from headwater.lake.logical_types.columns import check_stored, store
from headwater.lake.logical_types.storable import keep_zoneless
from headwater.lake.options import DELETED, WriteOptions
from headwater.lake.table import Table

# From this number of rows, a Spark job to check that no rows need combining pays off.
_MANY_ROWS = 50_000


class TableWriter:
    """Writes the batches of one data table."""

    def __init__(self, name: str, config: TableConfig, table: Table) -> None:
        self._name = name
        self._config = config
        self._table = table
        self._index = IndexChoice(name, config, table)
        self._has_deletes: bool | None = None
        self._stored: dict[str, DataType] | None = None
        self._types = list_column_types(config)
        self._written: StructType | None = None

    @property
    def _record_key(self) -> tuple[str, ...]:
        """The record key; a mirror uses object and row number, so new versions overwrite old rows."""
        if self._config.from_ is not None:
            return self._config.record_key or (SOURCE_KEY, SOURCE_ROW)
        if self._config.generated_keys:
            return ()
        if self._config.filter_duplicates:
            return self._config.record_key
        if self._config.history is not None:
            return (*self._config.record_key, VALID_FROM)
        by_mode = {"merge": self._config.record_key, "mirror": (OBJECT, ROW), "append": (EVENT_ID, ROW)}
        return by_mode[self._config.effective_mode]

    @property
    def identity(self) -> tuple[str, ...]:
        """Columns that identify a row: with most indexes it is unique only in its partition."""
        index = self._index.settle().index
        is_global = index is not None and index.type.startswith("global_")
        return self._record_key if is_global else (*self._record_key, *self._config.partition)

    def write(
        self,
        read: BatchRead | None,
        outdated_rows: Sequence[OutdatedRows],
        metadata: Mapping[str, str],
        *,
        is_new: bool,
    ) -> bool:
        """Commit the rows read and the retractions of `outdated_rows`; return False if there is neither.

        `is_new` guarantees that the table has no row of any of the objects. Raises `LakeError`.
        """
        if outdated_rows and not self._table.load_timeline().has_commits():
            outdated_rows = ()  # the objects are known, but none of them ever had a row
        rows = self._build_rows(read) if read else None
        if outdated_rows and self._config.generated_keys:
            # Hudi either adds rows or deletes some. A repeated batch finds none to delete.
            self._delete(outdated_rows, {} if rows is not None else metadata)
            if rows is None:
                return True
            outdated_rows = ()
        count = sum(outcome.rows for _, outcome in read.outcomes) if read else 0
        retracted = self._build_retracted(rows, outdated_rows)
        truncated = self._build_truncated(read.effects.truncated) if read and read.effects else None
        parts = [part for part in (rows, retracted, truncated) if part is not None]
        if not parts:
            return False
        if rows is not None:
            # The stored rows have the columns from before this batch.
            parts = [rows, *(conform_frame(part, rows.schema) for part in parts[1:])]
        frame = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), parts)
        if self._has_delete_column(frame) and DELETED not in frame.columns:
            frame = frame.withColumn(DELETED, F.lit(None).cast("boolean"))
        many = not outdated_rows and count >= _MANY_ROWS and not self._repeats_keys()
        unique = many and are_keys_unique(frame, self._config.record_key, count)
        # With a changelog as in `effective_operation`: it would lack inserted rows.
        insert = (
            is_new
            and self._config.effective_mode == "mirror"
            and not outdated_rows
            and self._config.cdc == "off"
        )
        self._commit(
            frame,
            metadata,
            unique_keys=unique,
            is_retraction=bool(outdated_rows),
            insert=insert,
            small_file_limit=choose_small_file_limit(self._estimate_size(read)),
        )
        return True

    def _repeats_keys(self) -> bool:
        """True if a large batch likely has several rows of one key: changes, unless they fill a new table."""
        return self._config.changes is not None and self._table.load_timeline().has_commits()

    def _delete(self, outdated_rows: Sequence[OutdatedRows], metadata: Mapping[str, str]) -> None:
        """Commit the removal of the objects' rows; make no commit without rows or metadata."""
        rows = read_stored(self._table, outdated_rows)
        if metadata or not rows.isEmpty():
            options = replace(self.build_options(), operation="delete", commit_metadata=metadata)
            self._table.write(rows.select(*options.list_delete_columns(rows.columns)), options)

    def write_set(
        self,
        read: BatchRead | None,
        version: SetVersion,
        build_metadata: Callable[[int], Mapping[str, str]],
    ) -> bool:
        """Commit the difference between the table and the rows of a set; return False if neither has rows.

        `build_metadata` is called with the number of keys in the set. Raises `LakeError`.
        """
        stored = self._table.read() if self._table.load_timeline().has_commits() else None
        rows = self._build_rows(read) if read else None
        if rows is None:
            if stored is None:
                return False
            rows = stored.drop(*(name for name in stored.columns if name.startswith("_hoodie_"))).limit(0)
        with SetDifference(self._config, self._set_identity, rows, stored, version) as difference:
            metadata = build_metadata(difference.keys)
            if difference.rows is None:
                self.write_checkpoint(metadata)
            else:
                is_new = stored is None
                self._commit(
                    difference.rows, metadata, unique_keys=True, is_retraction=not is_new, insert=is_new
                )
        return True

    def compare_set(self, read: BatchRead) -> DataFrame:
        """Return the newest rows of the table that are not in the set, marked as deleted, and those of the
        set that are not in the table. The table has commits."""
        rows = self._build_rows(read)
        stored = choose_current(self._table.read(), self._config)
        if rows is None:
            rows = stored.limit(0)
        return compare_with_set(self._config, self._set_identity, rows, stored)

    @property
    def _set_identity(self) -> tuple[str, ...]:
        """Columns that identify a row of a set: with history, the table has several versions of it."""
        return tuple(name for name in self.identity if name != VALID_FROM)

    def write_frame(self, frame: DataFrame, metadata: Mapping[str, str]) -> None:
        """Upsert rows and delete those marked by `DELETED`; all keys are distinct. Raises `LakeError`."""
        self._commit(frame, metadata, unique_keys=True, is_retraction=True)

    def write_checkpoint(self, metadata: Mapping[str, str]) -> None:
        """Commit without rows. Raises `LakeError`."""
        self._commit(_without_own_columns(self._table.read().limit(0)), metadata)

    def begin(self, metadata: Mapping[str, str]) -> None:
        """Commit without rows to a table that another writer made, with the columns of the rows' origin.

        Raises `LakeError`.
        """
        frame = self._table.read().limit(0)
        missing = {name: kind for name, kind in LINEAGE_TYPES.items() if name not in frame.columns}
        frame = frame.withColumns({name: F.lit(None).cast(kind) for name, kind in missing.items()})
        self._commit(_without_own_columns(frame), metadata)

    def _build_rows(self, read: BatchRead) -> DataFrame | None:
        columns = self._config.partition_columns
        lineages = [build_lineage(at, outcome, columns) for at, outcome in read.outcomes if outcome.rows]
        if read.records is None or not lineages:
            return None
        is_good = F.col("outcome").isNull() & F.col("corrupt").isNull()
        rows = read.records.where(is_good).select("object_index", "row_number", "record.*")
        rows = rows.coalesce(self._count_tasks(read))
        frame = with_lineage(rows, lineages, columns)
        rescued = self._config.effective_rescued_data_column
        if rescued and not self._config.complete_when:
            # The files of two sets have different names, but rows may be equal.
            frame = frame.withColumn(rescued, add_file_path(F.col(rescued), F.col(OBJECT)))
        if self._config.transform or self._config.changes:
            frame = self._add_left_out(frame)
        if self._config.merge_mode == "commit_time":
            frame = keep_last(frame, self.identity)
        return frame

    def _count_tasks(self, read: BatchRead) -> int:
        rows = sum(found.rows for _, found in read.outcomes)
        return count_write_tasks(rows, self._estimate_size(read), count_cores(self._table.spark))

    def _estimate_size(self, read: BatchRead | None) -> int:
        file_format = self._config.effective_format
        outcomes = read.outcomes if read else ()
        return sum(estimate_size(one.bytes, one.stored.event.key, file_format) for _, one in outcomes)

    def _add_left_out(self, frame: DataFrame) -> DataFrame:
        """Add columns that transforms no longer produce, as null: Hudi rejects rows without them."""
        if self._stored is None:
            exists = self._table.load_timeline().has_commits()
            fields = self._table.read().schema.fields if exists else []
            self._stored = {f.name: f.dataType for f in fields if not f.name.startswith("_hoodie_")}
        known = {name.lower() for name in frame.columns}
        left_out = {name: kind for name, kind in self._stored.items() if name.lower() not in known}
        self._stored |= {field.name: field.dataType for field in frame.schema}
        return frame.withColumns({name: F.lit(None).cast(kind) for name, kind in left_out.items()})

    def _build_retracted(
        self, rows: DataFrame | None, outdated_rows: Sequence[OutdatedRows]
    ) -> DataFrame | None:
        key_columns = dict.fromkeys((*self._record_key, *self._config.partition))
        return build_deletes(self._table, outdated_rows, rows, list(key_columns)) if outdated_rows else None

    def _build_truncated(self, truncated: str) -> DataFrame | None:
        """Return the stored rows that a truncate with this sequence deletes, marked as deleted."""
        if not truncated or not self._table.load_timeline().has_commits():
            return None
        stored = self._table.read().where(F.col(SEQUENCE) < truncated)
        stored = stored.drop(*(name for name in stored.columns if name.startswith("_hoodie_")))
        marked = stored.withColumn(DELETED, F.when(F.lit(True), F.lit(True)))
        return marked.withColumn(SEQUENCE, F.when(F.lit(True), F.lit(truncated)))

    def _has_delete_column(self, frame: DataFrame) -> bool:
        """True if the table has the column by which rows are deleted, or gets it now."""
        if DELETED in frame.columns or self._config.effective_mode == "mirror":
            self._has_deletes = True
        if self._has_deletes is None:
            # A repair may have added it.
            exists = self._table.load_timeline().has_commits()
            self._has_deletes = exists and DELETED in self._table.read().columns
        return self._has_deletes

    def check_backlog(self) -> None:
        """Raise `BacklogError` if table services are too far behind for another batch; also `LakeError`."""
        if has_limits(self._config):
            timeline = self._table.load_timeline()
            if timeline.exists():
                check_backlog(self._name, self._config, timeline)

    def build_options(self) -> WriteOptions:
        """Return the options of any write of the table, with its own operation."""
        config = self._config
        is_merge = config.effective_mode == "merge"
        return WriteOptions(
            table_name=self._name,
            operation=config.effective_operation,
            record_key=self._record_key,
            partition=config.partition,
            ordering=self._list_ordering() if is_merge else (),
            table_type=config.table_type,
            keep_commits=config.keep_commits or 0,
            typed=list_typed_options(self._index.settle()),
            cdc=config.cdc,
            extra=config.hoodie,
        )

    def _list_ordering(self) -> tuple[str, ...]:
        if self._config.complete_when is not None:
            return ()  # the newest set wins, whatever its rows say
        return (SEQUENCE,) if self._config.changes else self._config.ordering or (EVENT_TIME,)

    def _commit(
        self,
        frame: DataFrame,
        metadata: Mapping[str, str],
        *,
        unique_keys: bool = False,
        is_retraction: bool = False,
        insert: bool = False,
        small_file_limit: int = 0,
    ) -> None:
        if self._written is None:
            exists = self._table.load_timeline().has_commits()
            self._written = self._table.read().schema if exists else StructType()
            check_stored(self._name, self._written, self._types)
        frame = keep_zoneless(frame, self._written)
        frame = store(frame, self._types) if self._types else frame
        options = self.build_options()
        operation = "insert" if insert else options.operation
        options = replace(
            options,
            # Only an upsert finds the rows to delete.
            operation="upsert" if is_retraction else operation,
            unique_keys=unique_keys,
            small_file_limit=small_file_limit,
            commit_metadata=metadata,
        )
        self._table.write(frame, options)


def _without_own_columns(frame: DataFrame) -> DataFrame:
    """Drop Hudi's own columns, which a write adds."""
    own = [name for name in frame.columns if name.startswith("_hoodie_") and name != DELETED]
    return frame.drop(*own)

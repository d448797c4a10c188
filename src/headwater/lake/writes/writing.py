"""Writes a DataFrame to a configured table, outside its pipeline."""

import uuid
from dataclasses import dataclass, replace

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructType, TimestampType

from headwater.config.settings import Settings
from headwater.errors import UsageError
from headwater.lake.jvm import explained_lake
from headwater.lake.layout import find_address
from headwater.lake.logical_types.columns import convert_frame, count_faults, list_stored, store
from headwater.lake.options import DELETED, WriteOptions
from headwater.lake.service_table import ServiceTable, build_write_options
from headwater.lake.session import find_jvm_process
from headwater.lake.table import Table
from headwater.lake.typed_options.locks import read_session_lock, to_session_settings
from headwater.lake.typed_options.services import COMBINED
from headwater.lake.writers.writer_lease import Intent, Patience, WriterLease
from headwater.lake.writes.rules import (
    OVERWRITES,
    OWN_PREFIX,
    ROW_ORIGIN,
    WriteOperation,
    check_columns,
    check_operation,
)


@dataclass(frozen=True, slots=True)
class Written:
    """The `rows` written and `replaced` by a write; `instant` is the requested time of its commit."""

    instant: str
    rows: int
    replaced: int = 0


def write(settings: Settings, name: str, frame: DataFrame, operation: WriteOperation) -> Written:
    """Commit the rows of `frame` to the table `name`; its pipeline's checkpoint stays unchanged.

    `upsert` (merge), `insert` and `bulk_insert` (append) add rows. `insert_overwrite` replaces all partitions
    that have rows in `frame`, `insert_overwrite_table` all rows, in one commit. Columns match by name;
    missing ones become null, and headwater's own are filled. Conflicting writers are excluded.

    Raises `UsageError` for an operation or columns that do not match the table, `TableNotFoundError` before
    the pipeline has created it, `TableBusyError` and `LakeError`.
    """
    address = find_address(settings, name)
    config = settings.tables.get(name)
    if config is None:
        raise UsageError(
            f"cannot write to {name}: it is one of headwater's own tables",
            hint=f"tables: {', '.join(settings.tables)}",
        )
    check_operation(name, config, operation)
    lock = read_session_lock(to_session_settings(settings.lock), name)
    owned = ServiceTable.of(frame.sparkSession, address, config)
    table = replace(owned, extra={**lock, **owned.extra})
    combined = COMBINED if config.effective_mode == "merge" else {}
    options = build_write_options(table, operation, combined)
    intent = Intent(
        "service",
        f"write {operation}",
        (name,),
        alone=operation in OVERWRITES,
        is_locked=settings.lock is not None and settings.lock.spans_processes,
    )
    lease = WriterLease(settings.lake, address.storage_options, intent, lambda: None)
    with lease.entered(Patience()) as held:
        held.add_process(find_jvm_process(frame.sparkSession))
        return _commit(Table(frame.sparkSession, address.path), name, frame, options)


def _commit(table: Table, name: str, frame: DataFrame, options: WriteOptions) -> Written:
    stored = table.read().schema
    rows = _complete(name, frame, stored, options).persist()
    try:
        with explained_lake(table.path):
            count, replaced = rows.count(), _count_replaced(table, rows, options)
        table.write(rows, options)
    finally:
        rows.unpersist()
    return Written(table.load_timeline().commits[-1].requested, count, replaced)


def _complete(name: str, frame: DataFrame, stored: StructType, options: WriteOptions) -> DataFrame:
    """Return the rows with the table's columns and types."""
    own = [c for c in frame.columns if c.startswith("_hoodie_") and c != DELETED]
    frame = frame.drop(*own)
    fields = [f for f in stored.fields if not f.name.startswith("_hoodie_") or f.name == DELETED]
    needed = (*options.record_key, *options.partition, *options.ordering)
    check_columns(name, frame.columns, [field.name for field in fields], needed)
    types = {field.name: field.dataType for field in fields}
    given = {column.lower() for column in frame.columns}
    own = [c for c in (needed if options.record_key else ROW_ORIGIN) if c.startswith(OWN_PREFIX)]
    filled = {c: _build_own(types[c]) for c in own if c.lower() not in given}
    try:
        return _build_types(name, frame.withColumns(filled), StructType(fields)).to(StructType(fields))
    except AnalysisException as error:
        reason = " ".join(str(error).split())[:300]
        raise UsageError(
            f"rows do not fit the columns of table {name}: {reason}",
            hint="cast them to the types of the columns",
        ) from error


def _build_types(name: str, frame: DataFrame, stored: StructType) -> DataFrame:
    """Return the rows with vectors and blobs in the table's types."""
    types = list_stored(stored, frame.schema)
    if not types:
        return frame
    converted = convert_frame(frame, types)
    if faults := count_faults(converted, types):
        raise UsageError(
            f"{faults[0]:,} rows do not fit the columns of table {name}: one {faults[1]}",
            hint="remove or correct them",
        )
    return store(converted, types)


def _build_own(kind: DataType) -> Column:
    """Return a value for a key or ordering column that is unique to each row of this write."""
    if isinstance(kind, TimestampType):
        return F.current_timestamp()
    return F.lit(f"write:{uuid.uuid4()}") if isinstance(kind, StringType) else F.monotonically_increasing_id()


def _count_replaced(table: Table, rows: DataFrame, options: WriteOptions) -> int:
    if options.operation not in OVERWRITES:
        return 0
    stored = table.read()
    if options.operation == "insert_overwrite" and options.partition:
        keys = [f"`{column}`" for column in options.partition]
        stored = stored.join(rows.select(*keys).distinct(), on=list(options.partition), how="left_semi")
    return stored.count()

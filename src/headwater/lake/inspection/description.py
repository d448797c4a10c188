"""Describes a table: identity, schema, size, commits and configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from headwater.errors import LakeError
from headwater.lake.index_definitions import (
    IndexDefinition,
    describe_problem,
    find_problem,
    read_definitions,
    read_known_table,
    shorten,
)
from headwater.lake.inspection.actions import Action, build_actions
from headwater.lake.inspection.layout import LayoutTotals, TableLayout, read_layout
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import TableAddress
from headwater.lake.logical_types.decoding import name_logical_type
from headwater.lake.options import DEFAULT_SMALL_FILE_LIMIT
from headwater.lake.properties import TableProperties
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.timeline.instants import parse_time

_META_PREFIX = "_hoodie_"


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `type` is in SQL notation."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity in the table's properties.

    `ordering_fields` decide which of two rows with the same key is newer. `timezone` is the zone of instants.
    `cdc` is the mode, or `off`.
    """

    table_type: str
    table_version: int
    record_keys: tuple[str, ...]
    partition_fields: tuple[str, ...]
    hive_style_partitions: bool
    url_encoded_partitions: bool
    partition_columns_dropped: bool
    ordering_fields: tuple[str, ...]
    merge_mode: str | None
    payload_class: str | None
    key_generator: str | None
    base_file_format: str
    cdc: str
    meta_fields: bool
    timezone: str
    metadata_partitions: tuple[str, ...]
    metadata_partitions_building: tuple[str, ...]
    indexes: tuple[IndexDefinition, ...]


@dataclass(frozen=True, slots=True)
class TableDescription:
    """The result of `headwater table NAME describe`.

    `rows` of the latest snapshot is None if they could not be counted. `commits` counts completed writes;
    `created_at` is the requested time of the first. `problems` name what could not be read; `properties` are
    the raw ones.
    """

    name: str
    path: str
    identity: Identity
    columns: tuple[Column, ...]
    rows: int | None
    totals: LayoutTotals
    commits: int
    archived_commits: int
    created_at: datetime | None
    first_commit: str | None
    last_commit: Action | None
    pending_actions: int
    problems: tuple[str, ...]
    properties: Mapping[str, str]


def describe(
    address: TableAddress, now: datetime, *, small_file_limit: int = DEFAULT_SMALL_FILE_LIMIT
) -> TableDescription:
    """Describe the current table. Raises `TableNotFoundError`, `TableUnsupportedError` and `LakeError`.

    Rows are counted from file footers; file slices with logs are read in full.
    """
    timeline = TableTimeline(address)
    reader, properties = timeline.folder.reader, timeline.folder.properties
    layout = read_layout(address, rows=True, merged=True, small_file_limit=small_file_limit)
    problems = list(layout.problems)
    indexes = _read_indexes(timeline, problems)
    archived = [i for i in timeline.archived if i.is_write]
    writes = timeline.completed_writes
    first = min((i.requested for i in (*archived, *writes)), default=None)
    return TableDescription(
        name=address.name,
        path=address.path,
        identity=build_identity(properties, indexes),
        columns=_read_columns(reader, problems),
        rows=_count_rows(layout, problems),
        totals=layout.totals,
        commits=len(writes),
        archived_commits=len(archived),
        created_at=parse_time(first, timeline.zone) if first else None,
        first_commit=first,
        last_commit=next(iter(build_actions(timeline, writes[-1:], now)), None),
        pending_actions=sum(i.state != "completed" for i in timeline.active),
        problems=tuple(dict.fromkeys(problems)),
        properties=properties.raw,
    )


def build_identity(properties: TableProperties, indexes: tuple[IndexDefinition, ...] = ()) -> Identity:
    """Build the identity from a table's properties, with Hudi's defaults for missing ones."""
    generator = properties.read("key_generator_class") or properties.read("key_generator_type")
    cdc = properties.read("cdc_mode", "on") if properties.read_flag("cdc") else "off"
    return Identity(
        table_type=properties.read("table_type", "COPY_ON_WRITE").lower(),
        table_version=properties.read_number("table_version", 0),
        record_keys=properties.read_list("record_keys"),
        partition_fields=properties.read_list("partition_fields"),
        hive_style_partitions=properties.read_flag("hive_style"),
        url_encoded_partitions=properties.read_flag("url_encoded"),
        partition_columns_dropped=properties.read_flag("partition_columns_dropped"),
        ordering_fields=properties.read_list("ordering_fields")
        or properties.read_list("older_ordering_field"),
        merge_mode=properties.read("merge_mode").lower() or None,
        payload_class=properties.read("payload_class") or None,
        key_generator=generator or None,
        base_file_format=properties.read("base_file_format", "PARQUET").lower(),
        cdc=cdc.lower(),
        meta_fields=properties.read_flag("meta_fields", default=True),
        timezone=properties.read("timezone", "LOCAL"),
        metadata_partitions=properties.read_list("metadata_partitions"),
        metadata_partitions_building=properties.read_list("metadata_partitions_building"),
        indexes=indexes,
    )


def _read_indexes(timeline: TableTimeline, problems: list[str]) -> tuple[IndexDefinition, ...]:
    definitions = read_definitions(timeline.folder, problems)
    if not definitions:
        return ()
    table = read_known_table(timeline.folder, problems)
    found = tuple(replace(one, problem=find_problem(one, table)) for one in definitions)
    problems += [describe_problem(shorten(one.name), one.problem) for one in found if one.problem]
    return found


def list_columns(reader: SnapshotReader) -> tuple[Column, ...]:
    """List the columns of a table without Hudi's own. Raises `LakeError`."""
    from pyspark.sql.pandas.types import from_arrow_type

    def name_type(arrow_type: Any) -> str:
        try:
            return from_arrow_type(arrow_type).simpleString()
        except Exception:  # Spark raises a plain error for types that it cannot express in SQL
            return str(arrow_type)

    return tuple(
        Column(column.name, name_logical_type(column) or name_type(column.type))
        for column in reader.schema
        if not column.name.startswith(_META_PREFIX)
    )


def _read_columns(reader: SnapshotReader, problems: list[str]) -> tuple[Column, ...]:
    try:
        return list_columns(reader)
    except LakeError as error:
        problems.append(error.message)
        return ()


def _count_rows(layout: TableLayout, problems: list[str]) -> int | None:
    known = [one.rows for one in layout.slices if one.rows is not None]
    unknown = len(layout.slices) - len(known)
    if unknown:
        problems.append(f"the rows of {unknown:,} of {len(layout.slices):,} file groups cannot be counted")
        return None
    return sum(known)

"""Plans the changes that make a catalog match a table. Pure: production and tests share it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal, TypeVar

from headwater.errors import CatalogConflictError
from headwater.lake.catalogs.catalog_table import CatalogColumn, CatalogTable, PartitionValues

LAST_COMMIT = "last_commit_time_sync"
LAST_COMPLETION = "last_commit_completion_time_sync"
"""Properties of Hudi's own sync tools: the last synced commit."""
_NOTED = frozenset({LAST_COMMIT, LAST_COMPLETION})
SPARK_SCHEMA = "spark.sql.sources.schema."
_CHANGED_AT_ONCE = 100
_SCHEME = re.compile(r"^s3[an]?://")

_Item = TypeVar("_Item")
ColumnEffect = Literal["add", "change", "remove"]


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A changed column; the types `before` and `after` are empty if the column is absent."""

    effect: ColumnEffect
    name: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class TableChange:
    """The changes that a catalog needs for one table; none if `is_empty`.

    `table` is the desired table, including properties set by others. `is_redefined` means changed columns,
    format or properties. `moved` are partitions with another location or changed column types.
    `has_new_files` means a changed file list.
    """

    table: CatalogTable
    is_new: bool = False
    is_redefined: bool = False
    columns: tuple[ColumnChange, ...] = ()
    properties: tuple[str, ...] = ()
    added: Mapping[PartitionValues, str] = field(default_factory=dict)
    moved: Mapping[PartitionValues, str] = field(default_factory=dict)
    dropped: tuple[PartitionValues, ...] = ()
    has_new_files: bool = False

    @property
    def is_empty(self) -> bool:
        """True if the catalog already matches the table."""
        return not (
            self.is_new or self.is_redefined or self.added or self.moved or self.dropped or self.has_new_files
        )

    def describe(self) -> Iterator[str]:
        """Yield human-readable lines without the table's name."""
        if self.is_new:
            yield f"create the table with {len(self.table.columns)} columns"
        else:
            yield from (_describe_column(change) for change in self.columns)
            if self.is_redefined and not self.columns:
                yield f"set {', '.join(self.properties) or 'the storage format'}"
        for verb, count in (
            ("add", len(self.added)),
            ("rewrite", len(self.moved)),
            ("drop", len(self.dropped)),
        ):
            if count:
                yield f"{verb} {count:,} partition{'s' if count > 1 else ''}"
        if self.has_new_files:
            count = len(self.table.files or ())
            yield f"write the manifest of {count:,} file{'' if count == 1 else 's'}"


def plan_change(held: CatalogTable | None, wanted: CatalogTable) -> TableChange:
    """Plan the changes from the entry in the catalog to the desired entry.

    The last synced commit is written only together with another change. A commit that changes neither columns
    nor partitions sends nothing. Raises `CatalogConflictError` if the name belongs to another table.
    """
    if held is None:
        has_files = wanted.files is not None
        return TableChange(wanted, is_new=True, added=wanted.partitions, has_new_files=has_files)
    _check_same(held, wanted)
    columns = tuple(_iter_column_changes(held.columns, wanted.columns))
    properties = tuple(
        name for name, value in wanted.properties.items() if held.properties.get(name) != value
    )
    serde = tuple(
        name
        for name, value in wanted.serde_properties.items()
        if not _is_same_location(held.serde_properties.get(name, ""), value)
    )
    defining = [name for name in (*properties, *serde) if name not in _NOTED]
    is_redefined = bool(columns or defining or held.format != wanted.format)
    # Engines read a partition's columns from its own entry. That entry may lack a new column, but not a new
    # type.
    has_new_types = held.format != wanted.format or any(change.effect == "change" for change in columns)
    kept = {values: location for values, location in wanted.partitions.items() if values in held.partitions}
    return TableChange(
        _merge(held, wanted),
        is_redefined=is_redefined,
        columns=columns,
        properties=tuple(sorted(defining)),
        added={values: location for values, location in wanted.partitions.items() if values not in kept},
        moved={
            values: location
            for values, location in kept.items()
            if has_new_types or not _is_same_location(held.partitions[values], location)
        },
        dropped=tuple(sorted(set(held.partitions) - set(kept))),
        has_new_files=held.files != wanted.files,
    )


def normalize_location(location: str) -> str:
    """Return the same text for `/a`, `file:/a` and `file:///a/`, and for `s3a://b/c` and `s3://b/c`."""
    text = _SCHEME.sub("s3://", location.rstrip("/"))
    return "/" + text.removeprefix("file:").lstrip("/") if text.startswith("file:") else text


def iter_batches(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """Yield batches of 100 partitions, which every catalog accepts in one request."""
    rest = iter(items)
    while some := list(islice(rest, _CHANGED_AT_ONCE)):
        yield some


def _is_same_location(one: str, other: str) -> bool:
    return normalize_location(one) == normalize_location(other)


def _check_same(held: CatalogTable, wanted: CatalogTable) -> None:
    if not _is_same_location(held.location, wanted.location):
        raise CatalogConflictError(
            f"the catalog has another table named {held.name}: its location is {held.location}, "
            f"not {wanted.location}",
            hint="give this table another name with `table_names`, or drop the other one from the catalog",
        )
    there = [key.name for key in held.partition_keys]
    here = [key.name for key in wanted.partition_keys]
    if there != here:
        raise CatalogConflictError(
            f"the catalog has {held.name} partitioned by {', '.join(there) or 'nothing'}, but the table is "
            f"partitioned by {', '.join(here) or 'nothing'}; catalogs cannot change the partitioning",
            hint="drop it from the catalog, which deletes no rows; the next sync re-creates it",
        )


def _iter_column_changes(
    held: tuple[CatalogColumn, ...], wanted: tuple[CatalogColumn, ...]
) -> Iterator[ColumnChange]:
    before = {column.name: column.type for column in held}
    after = {column.name: column.type for column in wanted}
    for name, kind in after.items():
        if name not in before:
            yield ColumnChange("add", name, after=kind)
        elif before[name] != kind:
            yield ColumnChange("change", name, before[name], kind)
    yield from (ColumnChange("remove", name, kind) for name, kind in before.items() if name not in after)


def _merge(held: CatalogTable, wanted: CatalogTable) -> CatalogTable:
    """Return the desired table plus settings of others; drops surplus parts of a formerly longer schema.

    Existing columns keep their positions and new ones follow. Engines match columns by name, but a metastore
    compares types by position.
    """
    by_name = {column.name: column for column in wanted.columns}
    known = [by_name[column.name] for column in held.columns if column.name in by_name]
    columns = (*known, *(column for column in wanted.columns if column not in known))
    others = {name: value for name, value in held.properties.items() if not name.startswith(SPARK_SCHEMA)}
    return replace(
        wanted,
        columns=columns,
        properties=others | dict(wanted.properties),
        serde_properties=dict(held.serde_properties) | dict(wanted.serde_properties),
    )


def _describe_column(change: ColumnChange) -> str:
    if change.effect == "add":
        return f"add column {change.name} {change.after}"
    if change.effect == "remove":
        return f"remove column {change.name}"
    return f"change column {change.name} from {change.before} to {change.after}"

"""Lists the index of writes and the indexes in the metadata table, without a JVM."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from headwater.config.table import TableConfig
from headwater.lake.auto_index import find_record_index, settle_index
from headwater.lake.index_definitions import (
    EXPRESSION_PREFIX,
    FILES,
    RECORD_INDEX,
    SECONDARY_PREFIX,
    IndexDefinition,
    IndexKind,
    KnownTable,
    describe_problem,
    find_index_options,
    find_problem,
    name_kind,
    read_definitions,
    read_known_table,
    shorten,
)
from headwater.lake.index_functions import ColumnType
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import TableAddress
from headwater.lake.options import (
    TABLE_METADATA_FOLDER,
    RecordIndex,
    find_write_index,
    list_kept_partitions,
    owner_options,
)

IndexState = Literal["built", "building", "not built", "broken"]

_BUCKET_FILE = re.compile(r"(0\d{7})-[0-9a-f]{4}-")


@dataclass(frozen=True, slots=True)
class WriteIndex:
    """How writes find the file of a key; `buckets` are per partition.

    `told_by` is the configuration, the table's size, or its files without a configuration. `type` is
    `unknown` if the files do not show it.
    """

    type: str
    buckets: int | None
    told_by: Literal["configuration", "size", "default", "files"]


@dataclass(frozen=True, slots=True)
class TableIndex:
    """An index in the metadata table; `partition` is its folder there.

    `kept` is whether the next write of the configured table keeps it. `problem` is why it makes writes fail,
    or why it will never be built.
    """

    name: str
    kind: IndexKind
    partition: str
    columns: tuple[str, ...]
    function: str
    statistics: str
    options: Mapping[str, str]
    state: IndexState
    kept: bool
    files: int
    bytes: int
    problem: str


@dataclass(frozen=True, slots=True)
class TableIndexes:
    """The result of `headwater table NAME index show`. `under_way` are the instants of incomplete writes."""

    table: str
    write_index: WriteIndex
    indexes: tuple[TableIndex, ...]
    under_way: tuple[str, ...]
    problems: tuple[str, ...]
    columns: Mapping[str, ColumnType] = field(repr=False)
    record_keys: tuple[str, ...]
    partition_fields: tuple[str, ...]

    def find(self, name: str) -> TableIndex | None:
        """Find an index by its displayed name or its folder name."""
        return next((one for one in self.indexes if name in (one.name, one.partition)), None)

    @property
    def built(self) -> tuple[str, ...]:
        """The partitions of all built indexes."""
        return tuple(one.partition for one in self.indexes if one.state == "built")

    @property
    def record_index(self) -> RecordIndex | None:
        """The kind of the record index, None without one."""
        found = self.find(RECORD_INDEX)
        return find_record_index(self.built, found.options if found else {})


def list_indexes(address: TableAddress, config: TableConfig | None = None) -> TableIndexes:
    """List all indexes; `config` is the table's configuration, None for headwater's own tables.

    Raises `TableNotFoundError`, `TableUnsupportedError` and `LakeError`.
    """
    timeline = TableTimeline(address)
    properties, problems = timeline.folder.properties, list[str]()
    known = read_known_table(timeline.folder, problems)
    definitions = {one.name: one for one in read_definitions(timeline.folder, problems)}
    options = find_index_options(definitions.values(), RECORD_INDEX)
    record_index = find_record_index(known.built, options)
    settled = settle_index(config, record_index) if config else None
    building = properties.read_list("metadata_partitions_building")
    kept = list_kept_partitions(owner_options(settled)) if settled else frozenset[str]()
    sizes = _measure(timeline)
    found = [
        _build_index(name, definitions.get(name), known, building, kept, sizes.get(name, []))
        for name in dict.fromkeys((*known.built, *building, *definitions))
    ]
    return TableIndexes(
        table=address.name,
        write_index=_find_write_index(timeline, config, settled),
        indexes=tuple(
            sorted(found, key=lambda one: (one.kind in ("secondary", "expression"), one.partition))
        ),
        under_way=tuple(i.requested for i in timeline.active if i.state == "inflight" and i.is_write),
        problems=(*problems, *(describe_problem(one.name, one.problem) for one in found if one.problem)),
        columns=known.columns,
        record_keys=properties.read_list("record_keys"),
        partition_fields=properties.read_list("partition_fields"),
    )


def _build_index(
    partition: str,
    definition: IndexDefinition | None,
    known: KnownTable,
    building: tuple[str, ...],
    kept: frozenset[str],
    sizes: list[int],
) -> TableIndex:
    kind = name_kind(partition)
    problem = find_problem(definition, known) if definition else ""
    is_owned = kind in ("secondary", "expression")
    return TableIndex(
        name=shorten(partition),
        kind=kind,
        partition=partition,
        columns=definition.columns if definition else (),
        function=definition.function if definition and kind == "expression" else "",
        statistics=definition.kind if definition and kind == "expression" else "",
        options=definition.options if definition else {},
        state=_name_state(partition, problem, known.built, building),
        kept=(FILES if is_owned else partition) in kept,
        files=len(sizes),
        bytes=sum(sizes),
        problem=problem,
    )


def _name_state(
    partition: str, problem: str, built: Collection[str], building: tuple[str, ...]
) -> IndexState:
    if problem:
        return "broken"
    if partition in built:
        return "built"
    return "building" if partition in building else "not built"


def _measure(timeline: TableTimeline) -> dict[str, list[int]]:
    folder = f"{TABLE_METADATA_FOLDER}/metadata/"
    found: dict[str, list[int]] = {}
    for file in timeline.folder.list_files(folder.rstrip("/"), recursive=True):
        partition, separator, name = file.path.removeprefix(folder).partition("/")
        # The folder also holds the metadata table's own timeline and checksum files of local disks.
        if separator and not partition.startswith(".hoodie") and not name.endswith(".crc"):
            found.setdefault(partition, []).append(file.size)
    return found


def _find_write_index(
    timeline: TableTimeline, config: TableConfig | None, settled: TableConfig | None
) -> WriteIndex:
    if config is not None and settled is not None:
        found = find_write_index(settled)
        told_by: Literal["configuration", "size", "default"] = "default"
        if config.index or find_write_index(config) != "simple":
            told_by = "configuration"
        elif found != "simple":
            told_by = "size"
        return WriteIndex(found, config.index.buckets if config.index else None, told_by)
    names = [file.name for file in timeline.folder.list_data_files()]
    buckets = {match[1] for name in names if (match := _BUCKET_FILE.match(name.lstrip(".")))}
    return WriteIndex("bucket", len(buckets), "files") if buckets else WriteIndex("unknown", None, "files")


def name_partition(kind: str, name: str) -> str:
    """Return the folder of an index in the metadata table."""
    prefix = {"secondary": SECONDARY_PREFIX, "expression": EXPRESSION_PREFIX}.get(kind, "")
    return f"{prefix}{name}"

"""Typed write and read options -> `hoodie.*` strings. The only file that spells them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

from headwater.config.hudi.table_sections import IndexType
from headwater.config.table import TableConfig
from headwater.config.table.typed_options import list_typed_options
from headwater.lake.typed_options.clustering import NOT_PLANNED
from headwater.lake.typed_options.declared import Value, render_options
from headwater.lake.typed_options.services import NO_PLANNED_COMPACTION

COMMIT_METADATA_PREFIX = "headwater."

TABLE_METADATA_FOLDER = ".hoodie"
TABLE_PROPERTIES_FILE = ".hoodie/hoodie.properties"
"""Below a table's path; exists exactly where a table does."""
TABLE_NAME_PROPERTY = "hoodie.table.name"
TABLE_TYPE_PROPERTY = "hoodie.table.type"
RECORD_KEY_PROPERTY = "hoodie.table.recordkey.fields"
TIMELINE_LAYOUT_PROPERTY = "hoodie.timeline.layout.version"
TIMELINE_ZONE_PROPERTY = "hoodie.table.timeline.timezone"
CDC_ENABLED_PROPERTY = "hoodie.table.cdc.enabled"
READ_OPTIMIZED_OPTION = "hoodie.read.use.read_optimized.mode"
"""Of hudi-rs."""

TABLE_PROPERTY_KEYS: Mapping[str, str] = {
    "name": TABLE_NAME_PROPERTY,
    "table_type": TABLE_TYPE_PROPERTY,
    "table_version": "hoodie.table.version",
    "initial_version": "hoodie.table.initial.version",
    "layout_version": TIMELINE_LAYOUT_PROPERTY,
    "timeline_path": "hoodie.timeline.path",
    "history_path": "hoodie.timeline.history.path",
    "timezone": TIMELINE_ZONE_PROPERTY,
    "record_keys": RECORD_KEY_PROPERTY,
    "partition_fields": "hoodie.table.partition.fields",
    "ordering_fields": "hoodie.table.ordering.fields",
    "older_ordering_field": "hoodie.table.precombine.field",
    "merge_mode": "hoodie.record.merge.mode",
    "merge_strategy": "hoodie.record.merge.strategy.id",
    "payload_class": "hoodie.compaction.payload.class",
    "key_generator_type": "hoodie.table.keygenerator.type",
    "key_generator_class": "hoodie.table.keygenerator.class",
    "base_file_format": "hoodie.table.base.file.format",
    "cdc": CDC_ENABLED_PROPERTY,
    "cdc_mode": "hoodie.table.cdc.supplemental.logging.mode",
    "meta_fields": "hoodie.populate.meta.fields",
    "hive_style": "hoodie.datasource.write.hive_style_partitioning",
    "url_encoded": "hoodie.datasource.write.partitionpath.urlencode",
    "partition_columns_dropped": "hoodie.datasource.write.drop.partition.columns",
    "metadata_partitions": "hoodie.table.metadata.partitions",
    "metadata_partitions_building": "hoodie.table.metadata.partitions.inflight",
    "index_definitions": "hoodie.table.index.defs.path",
}
"""What a table says of itself in its properties, by the names that readers here use."""
SMALL_FILE_LIMIT_OPTION = "hoodie.parquet.small.file.limit"
"""A write option: base files below so many bytes take new rows."""
DEFAULT_SMALL_FILE_LIMIT = 100 * 1024 * 1024

DELETED = "_hoodie_is_deleted"
"""Column by which a row of an upsert says that the table shall not have it any more."""

TableType = Literal["copy_on_write", "merge_on_read"]
Operation = Literal[
    "upsert",
    "insert",
    "bulk_insert",
    "insert_overwrite",
    "insert_overwrite_table",
    "delete",
    "delete_partition",
]
CdcMode = Literal["off", "op_key_only", "data_before", "data_before_after"]

_FAST_COMMITS = {
    # Figures and reasons: docs/decisions/0001-events-table.md and 0002-data-tables.md.
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "DIRECT",
    "hoodie.parquet.compression.codec": "zstd",
    "hoodie.table.timeline.timezone": "UTC",
    "hoodie.datasource.write.commitmeta.key.prefix": COMMIT_METADATA_PREFIX,
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.datasource.meta.sync.enable": "false",
    # A filter of keys that grows: sized for a bloom index, it is 430 KB of every file.
    "hoodie.index.bloom.num_entries": "1000",
    # Looking for something to clean after every small commit costs a tenth of it.
    "hoodie.clean.trigger.max.commits": "10",
    # Where there is nothing to remove nothing is noted, and the next commit lists the whole table again.
    "hoodie.write.empty.clean.interval.hours": "1",
}

_CHANGELOG = {
    # One file a commit, in the order given; nothing is ever superseded, so there is nothing to clean.
    "hoodie.bulkinsert.sort.mode": "NONE",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.combine.before.insert": "false",
    "hoodie.clean.automatic": "false",
    # Most texts of an event are its own: looking them up in a dictionary is a tenth of the commit's CPU, and
    # zstd makes as little of those that repeat.
    "hoodie.parquet.dictionary.enabled": "false",
    "hoodie.index.bloom.num_entries": "100",
    # Every commit lists the active timeline ten times: with a thousand on it that is most of a commit.
    "hoodie.keep.min.commits": "100",
    "hoodie.keep.max.commits": "120",
}

_ROWS_AS_READ = {"_hoodie.spark.sql.writes.prepped": "true"}
"""Hudi's own columns say where a row lies, as in a DELETE of Spark SQL."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How one write lands in a table. `compact_after` delta commits a merge-on-read table is compacted
    inline; 0 leaves compaction to others. Without `plan_compaction` none is planned for them either, nor a
    clustering without `plan_clustering`. The table can be read as it was up to `keep_commits` ago; 0 leaves
    it at Hudi's ten. Without a `record_key` Hudi generates the keys, rows are only added, and a delete wants
    them with Hudi's own columns. `unique_keys` promises that no two rows of this write have the same key.
    `typed` are the options of `typed_options/declared.py`. `cdc` is what the log of changes holds; Hudi
    refuses another one than the table was made with, but takes `off` for any. `extra` (the user's `hoodie.*`)
    wins over all of it."""

    table_name: str
    operation: Operation
    record_key: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    ordering: tuple[str, ...] = ()
    table_type: TableType = "copy_on_write"
    index: Literal["simple", "bucket"] | None = None
    buckets: int = 1
    changelog: bool = False
    compact_after: int = 0
    keep_commits: int = 0
    unique_keys: bool = False
    plan_compaction: bool = True
    plan_clustering: bool = True
    typed: Mapping[str, Value | None] = field(default_factory=dict)
    cdc: CdcMode = "off"
    commit_metadata: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)

    def to_hoodie(self) -> dict[str, str]:
        """All options of the write, as Hudi wants them."""
        built = self.typed_options()
        built |= {f"{COMMIT_METADATA_PREFIX}{name}": value for name, value in self.commit_metadata.items()}
        return built | dict(self.extra)

    def typed_options(self) -> dict[str, str]:
        """What headwater sets itself, without the user's `extra`."""
        built = dict(_FAST_COMMITS)
        built[TABLE_NAME_PROPERTY] = self.table_name
        built["hoodie.datasource.write.operation"] = self.operation
        built["hoodie.datasource.write.table.type"] = self.table_type.upper()
        built |= self._key_options()
        built["hoodie.datasource.write.partitionpath.field"] = ",".join(self.partition)
        if self.ordering:
            built["hoodie.table.ordering.fields"] = ",".join(self.ordering)
        if self.index:
            built["hoodie.index.type"] = self.index.upper()
        if self.index == "bucket":
            built["hoodie.bucket.index.num.buckets"] = str(self.buckets)
        if self.compact_after:
            built["hoodie.compact.inline"] = "true"
            built["hoodie.compact.inline.max.delta.commits"] = str(self.compact_after)
        built |= _keep_options(self.keep_commits)
        if self.unique_keys:
            built["hoodie.combine.before.upsert"] = "false"
        if self.cdc != "off":
            built[CDC_ENABLED_PROPERTY] = "true"
            built["hoodie.table.cdc.supplemental.logging.mode"] = self.cdc.upper()
        if self.changelog:
            built |= _CHANGELOG
        built |= _render_typed(self.typed, self.table_type)
        if not self.plan_compaction:
            built |= NO_PLANNED_COMPACTION
        return built if self.plan_clustering else built | NOT_PLANNED

    def list_delete_columns(self, columns: Iterable[str]) -> list[str]:
        """What a delete is told of each row, of those that it was read with."""
        own = (name for name in columns if name.startswith("_hoodie_") and name != DELETED)
        return list(dict.fromkeys((*(self.record_key or own), *self.partition, *self.ordering)))

    def _key_options(self) -> dict[str, str]:
        if self.record_key:
            return {"hoodie.datasource.write.recordkey.field": ",".join(self.record_key)}
        # Then Hudi generates keys; told of an empty one, it fails of a field without a name.
        return _ROWS_AS_READ if self.operation == "delete" else {}


CHANGELOG_BESIDE_OTHERS = {
    # Cleaning takes away what killed writers left, and instants behind that can be archived again.
    "hoodie.clean.automatic": "true",
}
"""What a changelog needs where writes that were not completed may be another writer's."""


def _keep_options(commits: int) -> dict[str, str]:
    if not commits:
        return {}
    return {
        "hoodie.clean.commits.retained": str(commits),
        # Hudi wants more commits on the timeline than it keeps the files of; by as many as by default.
        "hoodie.keep.min.commits": str(commits + 10),
        "hoodie.keep.max.commits": str(commits + 20),
    }


def owner_options(config: TableConfig) -> dict[str, str]:
    """What the configuration of a table says to whatever is done to it; the user's own `hoodie.*` win."""
    typed = _render_typed(list_typed_options(config), config.table_type)
    return _keep_options(config.keep_commits or 0) | typed | dict(config.hoodie)


def _render_typed(typed: Mapping[str, Value | None], table_type: TableType) -> dict[str, str]:
    rendered = render_options(typed)
    if table_type == "copy_on_write" and typed.get("services") == "semi_async":
        # The writer plans what there is to plan: of such a table clusterings only.
        rendered |= NO_PLANNED_COMPACTION
    return rendered


_INDEX_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "column_stats": ("hoodie.metadata.index.column.stats.enable",),
    "partition_stats": ("hoodie.metadata.index.partition.stats.enable",),
    "bloom_filters": ("hoodie.metadata.index.bloom.filter.enable",),
    "record_index": (
        "hoodie.metadata.global.record.level.index.enable",
        "hoodie.metadata.record.level.index.enable",
        "hoodie.metadata.record.index.enable",
    ),
}
"""Partitions of the metadata table, and the options any of which has a writer build and keep them."""
BLOOM_FILTERS_OPTION = _INDEX_OPTIONS["bloom_filters"][0]
_INDEX_TYPE = "hoodie.index.type"
_INDEX_WORDS = {
    "record_level_index": "record_level",
    "global_record_level_index": "global_record_level",
    "record_index": "global_record_level",
}


def list_kept_partitions(config: TableConfig) -> frozenset[str]:
    """Partitions of the metadata table that the writes of a table keep, `files` among them; none where they
    remove the metadata table. Those of secondary and expression indexes are kept wherever `files` is."""
    given = owner_options(config)
    if given.get("hoodie.metadata.enable", "false") != "true":
        return frozenset()
    kept = {name for name, keys in _INDEX_OPTIONS.items() if any(given.get(key) == "true" for key in keys)}
    return frozenset({"files", *kept, *_list_default_partitions(given)})


def _list_default_partitions(given: Mapping[str, str]) -> Iterator[str]:
    stats, of_partitions = _INDEX_OPTIONS["column_stats"][0], _INDEX_OPTIONS["partition_stats"][0]
    # Where Spark writes, Hudi keeps both unless it is told not to; not those of partitions alone.
    if given.get(stats, "true") == "true":
        yield "column_stats"
        if given.get(of_partitions, "true") == "true":
            yield "partition_stats"


def keeps_global_record_index(config: TableConfig) -> bool:
    """Whether the writes of a table keep a record index over all partitions: readers use no other."""
    of_all, _, older = _INDEX_OPTIONS["record_index"]
    given = owner_options(config)
    return "true" in (given.get(of_all), given.get(older))


def has_timeline_server(config: TableConfig) -> bool:
    """Whether the writes of a table start Hudi's timeline server: else they fail of an expression index."""
    return owner_options(config).get("hoodie.embed.timeline.server") == "true"


def list_column_stats(config: TableConfig) -> tuple[str, ...]:
    """Columns that `column_stats` are kept of by name; none where Hudi takes the first."""
    text = owner_options(config).get("hoodie.metadata.index.column.stats.column.list", "")
    return tuple(name.strip() for name in text.split(",") if name.strip())


def find_write_index(config: TableConfig) -> IndexType:
    """How writes find the file of a key, in our words; `simple`, Hudi's own, where nothing is said or Hudi
    has a word for it that we do not."""
    told = owner_options(config).get(_INDEX_TYPE, "").lower()
    word = _INDEX_WORDS.get(told, told)
    return next((known for known in get_args(IndexType) if known == word), "simple")


def index_options(partitions: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """What makes a client keep these partitions of the metadata table, beside the options `given`.

    Which of the record indexes is left to `given` where that asks for one.
    """
    built: dict[str, str] = {}
    for name in partitions:
        keys = _INDEX_OPTIONS.get(name, ())
        if keys and not any(given.get(key) == "true" for key in keys):
            built[keys[0]] = "true"
    return built


_SERVICES = (
    "hoodie.embed.timeline.server",
    "hoodie.write.markers.type",
    "hoodie.parquet.compression.codec",
    "hoodie.index.bloom.num_entries",
    "hoodie.table.timeline.timezone",
)


def service_options(
    properties: Mapping[str, str], given: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """What every service of a table with these properties is given, beside its owner's options `given`.

    A client without the metadata table removes one that is there, and one without an index that index.
    """
    built = {key: _FAST_COMMITS[key] for key in _SERVICES}
    built["hoodie.metadata.enable"] = str(
        bool(properties.get(TABLE_PROPERTY_KEYS["metadata_partitions"]))
    ).lower()
    if RECORD_KEY_PROPERTY in properties:
        # A bucket index is of the key, and Hudi looks for it only here.
        built["hoodie.datasource.write.recordkey.field"] = properties[RECORD_KEY_PROPERTY]
    # A service does what it is told and nothing on the side.
    built |= {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    partitions = properties.get(TABLE_PROPERTY_KEYS["metadata_partitions"], "").split(",")
    return built | index_options(partitions, given)


def building_options(
    given: Mapping[str, str], partition: str = "", *, without: Iterable[str] = ()
) -> dict[str, str]:
    """Beside the owner's options `given`: build the index of that partition of the metadata table now, or let
    go of those `without`."""
    built = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.async": "false"}
    built |= index_options([partition], given)
    built |= {key: "false" for name in without for key in _INDEX_OPTIONS.get(name, ())}
    return built


CleanBy = Literal["commits", "hours", "versions"]


def cleaning_options(by: CleanBy | None, count: int) -> dict[str, str]:
    """Clean now. What is kept: as configured, or that many commits, hours or versions of each file group."""
    # All partitions, also with no commit since the last clean: a savepoint may have gone since.
    built = {"hoodie.clean.trigger.max.commits": "0", "hoodie.clean.incremental.enabled": "false"}
    if by == "commits":
        built |= {"hoodie.clean.policy": "KEEP_LATEST_COMMITS", "hoodie.clean.commits.retained": str(count)}
    elif by == "hours":
        built |= {"hoodie.clean.policy": "KEEP_LATEST_BY_HOURS", "hoodie.clean.hours.retained": str(count)}
    elif by == "versions":
        policy = "KEEP_LATEST_FILE_VERSIONS"
        built |= {"hoodie.clean.policy": policy, "hoodie.clean.fileversions.retained": str(count)}
    return built


def archiving_options(keep: int) -> dict[str, str]:
    """Leave about that many commits on the active timeline; never those that the cleaner still needs."""
    return {"hoodie.keep.min.commits": str(keep), "hoodie.keep.max.commits": str(keep + 1)}


def list_overridden(typed: Mapping[str, str], extra: Mapping[str, str]) -> list[str]:
    """Keys of `extra` that change what headwater would set, for a warning."""
    return sorted(key for key, value in extra.items() if key in typed and typed[key] != value)


def incremental_read(after: str, upto: str) -> dict[str, str]:
    """Commits completed in (after, upto]; both completion times."""
    return {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": after,
        "hoodie.datasource.read.end.instanttime": upto,
        # Completeness is decided by us (see EventsTable), never by a silent fallback.
        "hoodie.datasource.read.incr.fallback.fulltablescan.enable": "false",
        "hoodie.metadata.enable": "false",
    }


def snapshot_read(as_of: str = "") -> dict[str, str]:
    """The newest state, or that of the commit requested then."""
    built = {"hoodie.datasource.query.type": "snapshot", "hoodie.metadata.enable": "false"}
    return built | {"as.of.instant": as_of} if as_of else built


def skipping_read() -> dict[str, str]:
    """The newest state; files in which no index of the table finds what a query asks for are not read."""
    return snapshot_read() | {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}


def read_optimized_read() -> dict[str, str]:
    """Base files only."""
    return {"hoodie.datasource.query.type": "read_optimized", "hoodie.metadata.enable": "false"}


def change_log_read(after: str, upto: str) -> dict[str, str]:
    """The changes of commits completed in (after, upto], as the table's log has them."""
    return incremental_read(after, upto) | {"hoodie.datasource.query.incremental.format": "cdc"}

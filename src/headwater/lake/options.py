"""Converts typed write and read options to `hoodie.*` strings. No other module spells them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

from headwater.config.hudi.table_option import OptionValue
from headwater.config.hudi.table_sections import IndexType
from headwater.config.table import TableConfig
from headwater.config.table.typed_options import list_typed_options
from headwater.lake.typed_options.rendering import render_options
from headwater.lake.typed_options.services import NO_PLANNED_COMPACTION

COMMIT_METADATA_PREFIX = "headwater."

TABLE_METADATA_FOLDER = ".hoodie"
TABLE_PROPERTIES_FILE = ".hoodie/hoodie.properties"
"""Relative to a table's path; exists if and only if the table does."""
TABLE_NAME_PROPERTY = "hoodie.table.name"
TABLE_TYPE_PROPERTY = "hoodie.table.type"
RECORD_KEY_PROPERTY = "hoodie.table.recordkey.fields"
TIMELINE_LAYOUT_PROPERTY = "hoodie.timeline.layout.version"
TIMELINE_ZONE_PROPERTY = "hoodie.table.timeline.timezone"
CDC_ENABLED_PROPERTY = "hoodie.table.cdc.enabled"
READ_OPTIMIZED_OPTION = "hoodie.read.use.read_optimized.mode"
"""An option of hudi-rs."""

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
"""Hudi's keys of table properties, by the names that readers here use."""
SMALL_FILE_LIMIT_OPTION = "hoodie.parquet.small.file.limit"
"""Write option: the size in bytes below which a base file receives new rows."""
DEFAULT_SMALL_FILE_LIMIT = 100 * 1024 * 1024

DELETED = "_hoodie_is_deleted"
"""The column that marks a row of an upsert as a delete."""

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
    # Figures and reasons: `docs/decisions/0001-events-table.md` and `0002-data-tables.md`.
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "DIRECT",
    "hoodie.parquet.compression.codec": "zstd",
    "hoodie.table.timeline.timezone": "UTC",
    "hoodie.datasource.write.commitmeta.key.prefix": COMMIT_METADATA_PREFIX,
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.datasource.meta.sync.enable": "false",
    # The key filter grows on demand; at its default size for a bloom index, it adds 430 KB to every file.
    "hoodie.index.bloom.num_entries": "1000",
    # Checking for a clean after every small commit takes a tenth of its time.
    "hoodie.clean.trigger.max.commits": "10",
    # Hudi records nothing after an empty clean, so that each further commit lists the whole table.
    "hoodie.write.empty.clean.interval.hours": "1",
}

_CHANGELOG = {
    # One file per commit, in the given order. Nothing is ever superseded, so there is nothing to clean.
    "hoodie.bulkinsert.sort.mode": "NONE",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.combine.before.insert": "false",
    "hoodie.clean.automatic": "false",
    # Most strings of an event are unique. Dictionary encoding takes a tenth of the commit's CPU, and zstd
    # compresses the repeated ones equally well.
    "hoodie.parquet.dictionary.enabled": "false",
    "hoodie.index.bloom.num_entries": "100",
    # Every commit lists the active timeline ten times; with a thousand instants, that dominates the commit.
    "hoodie.keep.min.commits": "100",
    "hoodie.keep.max.commits": "120",
}

_ROWS_AS_READ = {"_hoodie.spark.sql.writes.prepped": "true"}
"""Hudi's metadata columns locate each row, as in a DELETE of Spark SQL."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of one write.

    A merge-on-read table is compacted inline after `compact_after` delta commits; 0 leaves compaction to
    table services.

    Snapshots of the last `keep_commits` commits stay readable; 0 means Hudi's default of ten. Older files are
    deleted every `clean_after` commits; 0 means ten.

    Without a `record_key`, Hudi generates keys, writes only append, and deletes need Hudi's metadata columns.
    `unique_keys` promises that no two rows of this write have the same key. Base files of less than
    `small_file_limit` bytes receive new rows, unless `typed` says otherwise; 0 means Hudi's 100 MB.

    `typed` are the options of `list_typed_options`. `cdc` is the mode of the change log. Hudi rejects another
    mode than the table's, except `off`. `extra` (the user's `hoodie.*`) overrides everything.
    """

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
    clean_after: int = 0
    unique_keys: bool = False
    small_file_limit: int = 0
    typed: Mapping[str, OptionValue | None] = field(default_factory=dict)
    cdc: CdcMode = "off"
    commit_metadata: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)

    def to_hoodie(self) -> dict[str, str]:
        """Return all options of the write in Hudi's form."""
        built = self.typed_options()
        built |= {f"{COMMIT_METADATA_PREFIX}{name}": value for name, value in self.commit_metadata.items()}
        return built | dict(self.extra)

    def typed_options(self) -> dict[str, str]:
        """Return the options that headwater sets, without the user's `extra`."""
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
        if self.clean_after:
            built["hoodie.clean.trigger.max.commits"] = str(self.clean_after)
        if self.unique_keys:
            built["hoodie.combine.before.upsert"] = "false"
        if self.small_file_limit:
            built[SMALL_FILE_LIMIT_OPTION] = str(self.small_file_limit)
        if self.cdc != "off":
            built[CDC_ENABLED_PROPERTY] = "true"
            built["hoodie.table.cdc.supplemental.logging.mode"] = self.cdc.upper()
        if self.changelog:
            built |= _CHANGELOG
        built |= _render_typed(self.typed, self.table_type)
        return built

    def list_delete_columns(self, columns: Iterable[str]) -> list[str]:
        """Return the columns that a delete needs, out of those of the rows read."""
        own = (name for name in columns if name.startswith("_hoodie_") and name != DELETED)
        return list(dict.fromkeys((*(self.record_key or own), *self.partition, *self.ordering)))

    def _key_options(self) -> dict[str, str]:
        if self.record_key:
            return {"hoodie.datasource.write.recordkey.field": ",".join(self.record_key)}
        # Omit the option, so that Hudi generates keys: an empty record key makes it fail on a field without a
        # name.
        return _ROWS_AS_READ if self.operation == "delete" else {}


CHANGELOG_WITH_SEVERAL_WRITERS = {
    # Cleaning rolls back writes of killed writers, so that later instants can be archived again.
    "hoodie.clean.automatic": "true",
}
"""Options of a changelog if incomplete writes may belong to another active writer."""


def _keep_options(commits: int) -> dict[str, str]:
    if not commits:
        return {}
    return {
        "hoodie.clean.commits.retained": str(commits),
        # Hudi requires more commits on the timeline than it retains files of; use the default difference.
        "hoodie.keep.min.commits": str(commits + 10),
        "hoodie.keep.max.commits": str(commits + 20),
    }


def owner_options(config: TableConfig) -> dict[str, str]:
    """Return the options that a table's configuration sets for every operation; the user's `hoodie.*` win."""
    typed = _render_typed(list_typed_options(config), config.table_type)
    return _keep_options(config.keep_commits or 0) | typed | dict(config.hoodie)


def _render_typed(typed: Mapping[str, OptionValue | None], table_type: TableType) -> dict[str, str]:
    rendered = render_options(typed)
    if table_type == "copy_on_write" and typed.get("services") == "semi_async":
        # The writer schedules table services; for a copy-on-write table, these are only clusterings.
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
"""Partitions of the metadata table, and the options any of which makes a writer build and maintain them."""
BLOOM_FILTERS_OPTION = _INDEX_OPTIONS["bloom_filters"][0]
_INDEX_TYPE = "hoodie.index.type"
_INDEX_WORDS = {
    "record_level_index": "record_level",
    "global_record_level_index": "global_record_level",
    "record_index": "global_record_level",
}


RecordIndex = Literal["record_level", "global_record_level"]


def is_index_open(given: Mapping[str, str]) -> bool:
    """True if the owner's options choose no index, and do not rule out the metadata table."""
    chosen = (_INDEX_TYPE, *_INDEX_OPTIONS["record_index"])
    return given.get("hoodie.metadata.enable") != "false" and not any(key in given for key in chosen)


def list_kept_partitions(given: Mapping[str, str]) -> frozenset[str]:
    """Return the partitions of the metadata table that writes with the owner's options `given` maintain.

    Includes `files`. Empty if the writes remove the metadata table. Secondary and expression indexes are
    maintained wherever `files` is.
    """
    if given.get("hoodie.metadata.enable", "false") != "true":
        return frozenset()
    kept = {name for name, keys in _INDEX_OPTIONS.items() if any(given.get(key) == "true" for key in keys)}
    return frozenset({"files", *kept, *_list_default_partitions(given)})


def _list_default_partitions(given: Mapping[str, str]) -> Iterator[str]:
    stats, of_partitions = _INDEX_OPTIONS["column_stats"][0], _INDEX_OPTIONS["partition_stats"][0]
    # In Spark writes, Hudi maintains both by default, but partition stats only together with column stats.
    if given.get(stats, "true") == "true":
        yield "column_stats"
        if given.get(of_partitions, "true") == "true":
            yield "partition_stats"


def keeps_global_record_index(config: TableConfig) -> bool:
    """True if the writes of a table maintain a global record index, the only one that readers use."""
    of_all, _, older = _INDEX_OPTIONS["record_index"]
    given = owner_options(config)
    return "true" in (given.get(of_all), given.get(older))


def has_timeline_server(config: TableConfig) -> bool:
    """True if the table's writes start Hudi's timeline server, which an expression index requires."""
    return owner_options(config).get("hoodie.embed.timeline.server") == "true"


def list_column_stats(config: TableConfig) -> tuple[str, ...]:
    """Return the columns that `column_stats` names explicitly; empty if Hudi takes the first columns."""
    text = owner_options(config).get("hoodie.metadata.index.column.stats.column.list", "")
    return tuple(name.strip() for name in text.split(",") if name.strip())


def find_write_index(config: TableConfig) -> IndexType:
    """Return how writes find the file of a key, in headwater's terms.

    `simple`, Hudi's default, if the configuration sets none, or one that headwater does not know.
    """
    name = owner_options(config).get(_INDEX_TYPE, "").lower()
    word = _INDEX_WORDS.get(name, name)
    return next((known for known in get_args(IndexType) if known == word), "simple")


def index_options(partitions: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the options that make a client maintain these metadata partitions, in addition to `given`.

    If `given` enables one of the record indexes, that choice is kept.
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
    """Return options for services of a table with these properties, to merge with its owner's `given`.

    A client without the metadata table removes an existing one. A client without an index removes that index.
    """
    built = {key: _FAST_COMMITS[key] for key in _SERVICES}
    built["hoodie.metadata.enable"] = str(
        bool(properties.get(TABLE_PROPERTY_KEYS["metadata_partitions"]))
    ).lower()
    if RECORD_KEY_PROPERTY in properties:
        # A bucket index hashes the key, and Hudi reads the key fields only from this option.
        built["hoodie.datasource.write.recordkey.field"] = properties[RECORD_KEY_PROPERTY]
    # A service must not clean or archive as a side effect.
    built |= {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    partitions = properties.get(TABLE_PROPERTY_KEYS["metadata_partitions"], "").split(",")
    return built | index_options(partitions, given)


def building_options(
    given: Mapping[str, str], partition: str = "", *, without: Iterable[str] = ()
) -> dict[str, str]:
    """Return options, added to the owner's `given`, that build a metadata partition or drop those in
    `without`."""
    built = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.async": "false"}
    built |= index_options([partition], given)
    built |= {key: "false" for name in without for key in _INDEX_OPTIONS.get(name, ())}
    return built


CleanBy = Literal["commits", "hours", "versions"]


def cleaning_options(by: CleanBy | None, count: int) -> dict[str, str]:
    """Return options for a clean now: by the configuration, or by commits, hours or file versions."""
    # Clean all partitions, even without a commit since the last clean: a savepoint may have been deleted
    # since.
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
    """Return options that keep about `keep` commits on the active timeline, never fewer than cleaning
    needs."""
    return {"hoodie.keep.min.commits": str(keep), "hoodie.keep.max.commits": str(keep + 1)}


def list_overridden(typed: Mapping[str, str], extra: Mapping[str, str]) -> list[str]:
    """Return the keys of `extra` that override an option of headwater, for a warning."""
    return sorted(key for key, value in extra.items() if key in typed and typed[key] != value)


def incremental_read(after: str, upto: str) -> dict[str, str]:
    """Return options that read the commits completed in (after, upto]; both are completion times."""
    return {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": after,
        "hoodie.datasource.read.end.instanttime": upto,
        # headwater checks completeness itself (see `EventsTable`); Hudi must not silently fall back.
        "hoodie.datasource.read.incr.fallback.fulltablescan.enable": "false",
        "hoodie.metadata.enable": "false",
    }


def snapshot_read(as_of: str = "") -> dict[str, str]:
    """Return options that read the latest snapshot, or that of the commit requested at `as_of`."""
    built = {"hoodie.datasource.query.type": "snapshot", "hoodie.metadata.enable": "false"}
    return built | {"as.of.instant": as_of} if as_of else built


def skipping_read() -> dict[str, str]:
    """Return options that read the latest snapshot and skip files by the table's indexes."""
    return snapshot_read() | {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}


def read_optimized_read() -> dict[str, str]:
    """Return options that read only base files."""
    return {"hoodie.datasource.query.type": "read_optimized", "hoodie.metadata.enable": "false"}


def change_log_read(after: str, upto: str) -> dict[str, str]:
    """Return options that read changes of commits completed in (after, upto] from the change log."""
    return incremental_read(after, upto) | {"hoodie.datasource.query.incremental.format": "cdc"}

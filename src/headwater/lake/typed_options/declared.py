"""Maps table options to Hudi's keys; a new option needs only an entry here within the lake."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from headwater.lake.typed_options.clustering import render_clustering

Value = str | int | bool | tuple[str, ...]

_MERGER_OPTION = "hoodie.write.record.merge.custom.implementation.classes"
_MERGE_MODE_OPTION = "hoodie.write.record.merge.mode"
MERGE_STRATEGY_OPTION = "hoodie.write.record.merge.strategy.id"
"""Hudi requires the merge strategy ID of a custom merger."""

BY_SPARK = {
    "hoodie.write.record.merge.custom.implementation.classes": "org.apache.hudi.DefaultSparkRecordMerger"
}
"""Writes with Spark's own Parquet reader and writer.

They can update files whose lists have the old structure, and convert them to the new one. They also compare
stored and new decimals and dates, which Avro records cannot.
"""

_PAYLOADS = "org.apache.hudi.common.model"
_METADATA = {"hoodie.metadata.enable": "true"}

# Without the timeline server, the second commit to a partitioned record index fails, and every commit to an
# expression index. Any table with a metadata table may get an expression index.
_STREAMED = {**_METADATA, "hoodie.embed.timeline.server": "true"}

# Hudi's default size. Other tables use small filters that grow, but are slower to query.
_FILTERS = {"hoodie.index.bloom.num_entries": "60000"}


@dataclass(frozen=True, slots=True)
class DeclaredOption:
    """One option: its path relative to a table, and Hudi's key.

    `words` are values that differ from the upper-case form in Hudi. `also` are additional options per value;
    those under `*` apply to any value except False.
    """

    name: str
    key: str
    unit: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    also: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


DECLARED = (
    DeclaredOption(
        "partition_style",
        "hoodie.datasource.write.hive_style_partitioning",
        words={"hive": "true", "plain": "false"},
    ),
    DeclaredOption("url_encode_partitions", "hoodie.datasource.write.partitionpath.urlencode"),
    DeclaredOption("drop_partition_columns", "hoodie.datasource.write.drop.partition.columns"),
    DeclaredOption("base_file_format", "hoodie.table.base.file.format"),
    DeclaredOption(
        "index.type",
        "hoodie.index.type",
        words={"record_level": "RECORD_LEVEL_INDEX", "global_record_level": "GLOBAL_RECORD_LEVEL_INDEX"},
        also={
            "bloom": _FILTERS,
            "global_bloom": _FILTERS,
            "record_level": {**_STREAMED, "hoodie.metadata.record.level.index.enable": "true"},
            "global_record_level": {
                **_STREAMED,
                "hoodie.metadata.global.record.level.index.enable": "true",
                # Like the other global indexes; by default, a row stays in its first partition.
                "hoodie.record.index.update.partition.path": "true",
            },
        },
    ),
    DeclaredOption("index.buckets", "hoodie.bucket.index.num.buckets", "files of a partition"),
    DeclaredOption("index.engine", "hoodie.index.bucket.engine"),
    DeclaredOption(
        "merge_mode",
        _MERGE_MODE_OPTION,
        words={"commit_time": "COMMIT_TIME_ORDERING", "event_time": "EVENT_TIME_ORDERING"},
    ),
    DeclaredOption(
        "partial_updates",
        "hoodie.datasource.write.payload.class",
        words={"true": f"{_PAYLOADS}.PartialUpdateAvroPayload"},
    ),
    DeclaredOption("payload", "hoodie.datasource.write.payload.class"),
    DeclaredOption("merger", _MERGER_OPTION, also={"*": {_MERGE_MODE_OPTION: "CUSTOM"}}),
    DeclaredOption("filter_duplicates", "hoodie.datasource.write.insert.drop.duplicates"),
    DeclaredOption("bulk_insert.sort", "hoodie.bulkinsert.sort.mode"),
    DeclaredOption(
        "bulk_insert.sort_by",
        "hoodie.bulkinsert.user.defined.partitioner.sort.columns",
        "columns",
        also={
            "*": {
                "hoodie.bulkinsert.user.defined.partitioner.class": (
                    "org.apache.hudi.execution.bulkinsert.RowCustomColumnsSortPartitioner"
                )
            }
        },
    ),
    DeclaredOption("file_sizes.small", "hoodie.parquet.small.file.limit", "bytes"),
    DeclaredOption("file_sizes.max", "hoodie.parquet.max.file.size", "bytes"),
    DeclaredOption("keep_commits", "hoodie.clean.commits.retained", "commits"),
    DeclaredOption(
        "keep_hours",
        "hoodie.clean.hours.retained",
        "hours",
        also={"*": {"hoodie.clean.policy": "KEEP_LATEST_BY_HOURS"}},
    ),
    DeclaredOption(
        "keep_file_versions",
        "hoodie.clean.fileversions.retained",
        "versions of a file",
        also={"*": {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS"}},
    ),
    DeclaredOption("keep_partition_days", "hoodie.partition.ttl.strategy.days.retain", "days"),
    DeclaredOption(
        "compact_after",
        "hoodie.compact.inline.max.delta.commits",
        "commits",
        also={"*": {"hoodie.compact.inline": "true"}},
    ),
    DeclaredOption("clustering.after", "hoodie.clustering.inline.max.commits", "commits"),
    DeclaredOption("clustering.sort_by", "hoodie.clustering.plan.strategy.sort.columns", "columns"),
    DeclaredOption(
        "clustering.layout",
        "hoodie.layout.optimize.strategy",
        words={"z-order": "ZORDER"},
    ),
    DeclaredOption(
        "clustering.target_size", "hoodie.clustering.plan.strategy.target.file.max.bytes", "bytes"
    ),
    DeclaredOption(
        "services",
        "hoodie.compact.schedule.inline",
        words={"semi_async": "true", "async": "false"},
        also={
            "async": {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"},
            "*": {"hoodie.compact.inline": "false", "hoodie.datasource.compaction.async.enable": "false"},
        },
    ),
    DeclaredOption(
        "concurrency",
        "hoodie.write.concurrency.mode",
        words={"non_blocking": "NON_BLOCKING_CONCURRENCY_CONTROL"},
        # Hudi reads the table type from this key, which a Spark write does not set.
        also={"non_blocking": {"hoodie.table.type": "MERGE_ON_READ"}},
    ),
    DeclaredOption("metadata_table", "hoodie.metadata.enable", also={"true": _STREAMED}),
    DeclaredOption(
        "column_stats",
        "hoodie.metadata.index.column.stats.column.list",
        "columns",
        also={"*": {**_STREAMED, "hoodie.metadata.index.column.stats.enable": "true"}},
    ),
    DeclaredOption(
        "indexing",
        "hoodie.metadata.index.async",
        words={"async": "true", "inline": "false"},
        # With streaming writes, a commit fails if a configured index does not exist yet. With partition
        # stats, queries skip rows of commits that the index missed at its start (Hudi 1.2).
        also={
            "async": {
                "hoodie.metadata.streaming.write.enabled": "false",
                "hoodie.metadata.index.partition.stats.enable": "false",
                # The build waits for earlier pending writes, including those that are killed in the meantime.
                "hoodie.metadata.index.check.timeout.seconds": "300",
            }
        },
    ),
)
_BY_NAME = {option.name: option for option in DECLARED}


def find_merger(options: Mapping[str, str]) -> str | None:
    """Return the custom merger whose strategy ID is missing from a write's options, else None."""
    is_told = options.get(_MERGE_MODE_OPTION) != "CUSTOM" or MERGE_STRATEGY_OPTION in options
    merger = options.get(_MERGER_OPTION, "")
    return merger if merger and not is_told and "," not in merger else None


def render_options(given: Mapping[str, Value | None]) -> dict[str, str]:
    """Convert table options, by path relative to the table, to Hudi options; None means not set."""
    rendered: dict[str, str] = {}
    for name, value in given.items():
        if value is not None:
            rendered |= dict(_iter_rendered(_BY_NAME[name], value))
    return rendered | render_clustering(given)


def _iter_rendered(option: DeclaredOption, value: Value) -> Iterator[tuple[str, str]]:
    text = _write(value)
    # A column list that is only enabled names no columns.
    if not (option.unit == "columns" and isinstance(value, bool)):
        is_word = isinstance(value, str) and "." not in value
        yield option.key, option.words.get(text, text.upper() if is_word else text)
    yield from option.also.get(text, {}).items()
    if value is not False:
        yield from option.also.get("*", {}).items()


def _write(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, tuple) else str(value)

"""Our options of a table and Hudi's keys for them: an entry here is all that a new one needs in the lake."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from headwater.lake.typed_options.clustering import render_clustering

Value = str | int | bool | tuple[str, ...]

_MERGER_OPTION = "hoodie.write.record.merge.custom.implementation.classes"
_MERGE_MODE_OPTION = "hoodie.write.record.merge.mode"
MERGE_STRATEGY_OPTION = "hoodie.write.record.merge.strategy.id"
"""Hudi wants to be told what the merger says of itself."""

BY_SPARK = {
    "hoodie.write.record.merge.custom.implementation.classes": "org.apache.hudi.DefaultSparkRecordMerger"
}
"""A write that Spark's own Parquet reader and writer carry out. It can update files whose lists have the old
structure, and leaves them with the new one. It compares decimals and dates of stored rows with new ones,
which Avro records cannot."""

_PAYLOADS = "org.apache.hudi.common.model"
_METADATA = {"hoodie.metadata.enable": "true"}

# Without the server the second commit to a record index of partitions fails, and every commit to an
# expression index, which any table with a metadata table may get.
_STREAMED = {**_METADATA, "hoodie.embed.timeline.server": "true"}

# Hudi's own: other tables have small ones, which grow, and are slower to ask.
_FILTERS = {"hoodie.index.bloom.num_entries": "60000"}


@dataclass(frozen=True, slots=True)
class DeclaredOption:
    """One option: its path below a table, and Hudi's key.

    `words` are values that Hudi spells otherwise than in upper case; `also` is what else a value needs, under
    `*` what any needs that is not false.
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
                # As the other global indexes do: by default the row stays where its key was first.
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
        # Hudi looks for the type where a Spark write does not put it.
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
        # With the first a commit fails of an index that is to be there and is not yet; with the second
        # queries pass over rows of a commit that an index has missed as it began (Hudi 1.2).
        also={
            "async": {
                "hoodie.metadata.streaming.write.enabled": "false",
                "hoodie.metadata.index.partition.stats.enable": "false",
                # It waits for the writes that were begun before, also for one that is killed meanwhile.
                "hoodie.metadata.index.check.timeout.seconds": "300",
            }
        },
    ),
)
_BY_NAME = {option.name: option for option in DECLARED}


def find_merger(options: Mapping[str, str]) -> str | None:
    """The class whose strategy Hudi has still to be told, of a write's options as Hudi wants them."""
    is_told = options.get(_MERGE_MODE_OPTION) != "CUSTOM" or MERGE_STRATEGY_OPTION in options
    merger = options.get(_MERGER_OPTION, "")
    return merger if merger and not is_told and "," not in merger else None


def render_options(given: Mapping[str, Value | None]) -> dict[str, str]:
    """Hudi's options for ours, which are by their path below a table; None is not given."""
    rendered: dict[str, str] = {}
    for name, value in given.items():
        if value is not None:
            rendered |= dict(_iter_rendered(_BY_NAME[name], value))
    return rendered | render_clustering(given)


def _iter_rendered(option: DeclaredOption, value: Value) -> Iterator[tuple[str, str]]:
    text = _write(value)
    # A list that is only switched on has no columns to name.
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

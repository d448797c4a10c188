"""The index of a table whose configuration leaves the choice to headwater. Pure. See decision 0033.

A small table has Hudi's `simple` index, which reads the keys of all files that a batch may touch. A table
that has grown gets a record index, once. From then on, the table itself says that it has one: whoever writes
or maintains the table keeps it, and its size no longer matters.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

from headwater.config.hudi.table_sections import IndexConfig
from headwater.config.table import TableConfig
from headwater.lake.index_definitions import RECORD_INDEX
from headwater.lake.inspection.file_names import parse_data_file_name
from headwater.lake.options import RecordIndex, is_index_open, owner_options

LEAST_BYTES = 1024**3
"""From this size of the largest partition, reading all of its keys costs more than maintaining an index."""
MOST_BYTES = 32 * 1024**3
"""Building the index of a larger table would hold back its batches for too long: its owner chooses when."""


def find_record_index(built: Collection[str], options: Mapping[str, str]) -> RecordIndex | None:
    """Return the kind of the record index among the `built` partitions of the metadata table, None without.

    `options` are those of its definition.
    """
    if RECORD_INDEX not in built:
        return None
    # Releases that knew only the global one did not say so.
    return "record_level" if options.get("isPartitioned") == "true" else "global_record_level"


def settle_index(config: TableConfig, built: RecordIndex | None) -> TableConfig:
    """Return the configuration with the index that the table's writes use; `built` is the table's own."""
    if built is None or not is_index_open(owner_options(config)):
        return config
    return config.model_copy(update={"index": IndexConfig(type=built)})


def may_build(config: TableConfig) -> bool:
    """True if the writes of the table look up keys, and may build an index for it when it has grown.

    Not if another process compacts or clusters the table: it would complete its plan without the new index.
    """
    looks_up = config.effective_operation == "upsert" or config.filter_duplicates
    is_alone = config.services == "inline"
    is_plain = config.base_file_format == "parquet" and not config.drop_partition_columns
    is_open = is_index_open(owner_options(config))
    return looks_up and is_alone and is_plain and is_open and not config.generated_keys


def sum_partitions(files: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the bytes of the newest base file of each file group by partition, from paths and sizes.

    Log files do not count: `simple` reads keys of base files.
    """
    newest: dict[tuple[str, str], tuple[str, int]] = {}
    for path, size in files:
        partition, _, name = path.rpartition("/")
        found = parse_data_file_name(name)
        if found is not None and found.kind == "base":
            group = (partition, found.file_id)
            newest[group] = max(newest.get(group, ("", 0)), (found.instant, size))
    sizes: Counter[str] = Counter()
    for (partition, _), (_, size) in newest.items():
        sizes[partition] += size
    return dict(sizes)


def choose_record_index(
    config: TableConfig, total_bytes: int, measure_partitions: Callable[[], Mapping[str, int]]
) -> RecordIndex | None:
    """Return the index that the table needs now, by the sizes of its partitions; None for `simple`."""
    if not LEAST_BYTES <= total_bytes <= MOST_BYTES:
        return None
    if not config.partition:
        # Queries can use the global one.
        return "global_record_level"
    largest = max(measure_partitions().values(), default=0)
    # As `simple`: a row whose partition changes is in both.
    return "record_level" if largest >= LEAST_BYTES else None

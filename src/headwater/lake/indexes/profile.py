"""Profiles how a table is written and how its values are distributed, for `advice.py`; without a JVM."""

import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from headwater.config.table import TableConfig
from headwater.errors import LakeError
from headwater.lake.auto_index import find_record_index, settle_index
from headwater.lake.index_definitions import RECORD_INDEX, find_index_options, read_definitions
from headwater.lake.indexes.advice import ColumnSpread, TableProfile
from headwater.lake.inspection.actions import changes_rows, count_written, iter_write_stats
from headwater.lake.inspection.layout import FileSlice, read_layout
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import TableAddress
from headwater.lake.options import find_write_index
from headwater.lake.timeline.file_layout import Metadata

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData

_COMMITS = 200
_FILES = 200
_KEY = "_hoodie_record_key"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-([1-8])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_TIMED_UUIDS = frozenset("167")
_KINDS = (
    ("numbers", re.compile(r"-?\d{1,12}")),
    (
        "times",
        re.compile(
            r"[12]\d{3}-\d\d-\d\d.*|[12]\d{7}[T_-]?\d{6}.*|1\d{9}(\d{3})?|[0-7][0-9A-HJKMNP-TV-Z]{25}"
        ),
    ),
    ("hashes", re.compile(r"([0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})", re.IGNORECASE)),
)

_Range = tuple[Any, Any]


def read_profile(address: TableAddress, config: TableConfig) -> TableProfile:
    """Profile a table from its latest commits, current files and a sample of file footers.

    Raises `TableNotFoundError`, `TableUnsupportedError` and `LakeError`.
    """
    timeline = TableTimeline(address)
    layout = read_layout(address, rows=True, merged=True)
    current = [one for one in layout.slices if one.state == "current"]
    sizes = _sum_partitions(current)
    writes = timeline.read_metadata(timeline.completed_writes[-_COMMITS:]).values()
    commits = [
        metadata for metadata in writes if not isinstance(metadata, LakeError) and _is_change(metadata)
    ]
    counted = [count_written(metadata) for metadata in commits]
    groups, partitions = _average_touched(commits, len(current), len(sizes))
    spread = _read_spread(timeline, current)
    rows = [one.rows for one in current]
    return TableProfile(
        table=address.name,
        table_type=config.table_type,
        index=find_write_index(_settle(timeline, config)),
        looks_up_keys=config.effective_operation == "upsert" or config.filter_duplicates,
        has_partitions=bool(timeline.folder.properties.read_list("partition_fields")),
        rows=None if None in rows else sum(count for count in rows if count is not None),
        bytes=sum(sizes.values()),
        file_groups=len(current),
        partitions=len(sizes),
        largest_partition_bytes=max(sizes.values(), default=0),
        median_partition_bytes=int(median(sizes.values())) if sizes else 0,
        commits=len(commits),
        rows_inserted=sum(one.rows_inserted for one in counted),
        rows_updated=sum(one.rows_updated for one in counted),
        rows_deleted=sum(one.rows_deleted for one in counted),
        file_groups_touched=groups,
        partitions_touched=partitions,
        key_kind=name_key_kind(spread.keys),
        key_overlap=spread.key_overlap,
        sampled_files=spread.files,
        columns=spread.columns,
    )


def _settle(timeline: TableTimeline, config: TableConfig) -> TableConfig:
    built = timeline.folder.properties.read_list("metadata_partitions")
    options = find_index_options(read_definitions(timeline.folder, []), RECORD_INDEX)
    return settle_index(config, find_record_index(built, options))


def name_key_kind(keys: Iterable[str]) -> str:
    """Return the format that nearly all of these keys share."""
    found = [_name_kind(key) for key in keys]
    if not found:
        return "nothing yet"
    most = max(set(found), key=found.count)
    return most if found.count(most) >= 0.9 * len(found) else "text"


def _name_kind(key: str) -> str:
    uuid = _UUID.fullmatch(key)
    if uuid:
        return "times" if uuid[1] in _TIMED_UUIDS else "random UUIDs"
    return next((name for name, pattern in _KINDS if pattern.fullmatch(key)), "text")


def measure_overlap(ranges: Sequence[_Range]) -> float | None:
    """Return the average share of other ranges that a range overlaps; None for fewer than two."""
    if len(ranges) < 2:
        return None
    hits: int = sum(
        low <= other_high and other_low <= high
        for at, (low, high) in enumerate(ranges)
        for other_at, (other_low, other_high) in enumerate(ranges)
        if at != other_at
    )
    return hits / (len(ranges) * (len(ranges) - 1))


def _is_change(metadata: Metadata) -> bool:
    return changes_rows(str(metadata.get("operationType") or "").lower() or None)


def _sum_partitions(slices: Iterable[FileSlice]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for one in slices:
        sizes[one.partition] = sizes.get(one.partition, 0) + one.bytes
    return sizes


def _average_touched(commits: Sequence[Metadata], groups: int, partitions: int) -> tuple[float, float]:
    touched: list[tuple[int, int]] = []
    for metadata in commits:
        changed = [
            (partition, stat.get("fileId"))
            for partition, stat in iter_write_stats(metadata)
            if (stat.get("numUpdateWrites") or 0) + (stat.get("numDeletes") or 0)
        ]
        if changed:
            touched.append((len(set(changed)), len({partition for partition, _ in changed})))
    if not touched:
        return 0.0, 0.0
    of_groups = fmean(count for count, _ in touched) / max(1, groups)
    of_partitions = fmean(count for _, count in touched) / max(1, partitions)
    return min(1.0, of_groups), min(1.0, of_partitions)


class _Spread:
    """The value ranges in the footers of some files; `keys` are the minimum and maximum of each file."""

    def __init__(self, files: Sequence[tuple[str, Mapping[str, _Range]]], excluded: Iterable[str]) -> None:
        self.files = len(files)
        self._files = files
        self._excluded = frozenset(excluded)

    @property
    def keys(self) -> list[str]:
        """Record keys in Hudi's encoding."""
        return [str(key) for _, ranges in self._files for key in ranges.get(_KEY, ())]

    @property
    def key_overlap(self) -> float | None:
        """The average overlap of keys between the files of a partition."""
        found = [
            overlap
            for ranges in self._by_partition(_KEY).values()
            if (overlap := measure_overlap(ranges)) is not None
        ]
        return fmean(found) if found else None

    @property
    def columns(self) -> tuple[ColumnSpread, ...]:
        """The spread of the table's own columns that have statistics in every file."""
        names = dict.fromkeys(name for _, ranges in self._files for name in ranges)
        spreads = (
            self._build(name) for name in names if not name.startswith("_") and name not in self._excluded
        )
        return tuple(one for one in spreads if one is not None)

    def _build(self, name: str) -> ColumnSpread | None:
        ranges = [ranges_of_file[name] for _, ranges_of_file in self._files if name in ranges_of_file]
        overlap = measure_overlap(ranges)
        if overlap is None or len(ranges) < len(self._files):
            return None
        by_partition = [
            (min(low for low, _ in found), max(high for _, high in found))
            for found in self._by_partition(name).values()
        ]
        return ColumnSpread(name, overlap, measure_overlap(by_partition))

    def _by_partition(self, name: str) -> dict[str, list[_Range]]:
        found: dict[str, list[_Range]] = {}
        for partition, ranges_of_file in self._files:
            if name in ranges_of_file:
                found.setdefault(partition, []).append(ranges_of_file[name])
        return found


def _read_spread(timeline: TableTimeline, current: Sequence[FileSlice]) -> _Spread:
    with_base = [(one.partition, one.base_file.path) for one in current if one.base_file]
    step = max(1, -(-len(with_base) // _FILES))
    sampled = with_base[::step]
    footers = timeline.folder.read_footers([path for _, path in sampled])
    known = [(partition, footer) for partition, path in sampled if (footer := footers[path]) is not None]
    files = [(partition, _read_ranges(footer)) for partition, footer in known]
    return _Spread(files, timeline.folder.properties.read_list("partition_fields"))


def _read_ranges(footer: "FileMetaData") -> dict[str, _Range]:
    found: dict[str, _Range] = {}
    incomplete: set[str] = set()
    for at in range(footer.num_row_groups):
        group = footer.row_group(at)
        for number in range(group.num_columns):
            column = group.column(number)
            name, statistics = column.path_in_schema, column.statistics
            if statistics is None or not statistics.has_min_max or "." in name:
                incomplete.add(name)
                continue
            low, high = found.get(name, (statistics.min, statistics.max))
            found[name] = min(low, statistics.min), max(high, statistics.max)
    return {name: ends for name, ends in found.items() if name not in incomplete}

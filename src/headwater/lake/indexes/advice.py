"""Recommends an index for a table, with reasons, from the table's profile."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from headwater.config.hudi.table_sections import IndexType

KeyOrder = Literal["random", "ordered", "unknown"]
Advised = IndexType | Literal["none"]

GIGABYTE = 1024**3
# Up to this size, all keys can be read in seconds, so no index has to be maintained.
SMALL_BYTES = GIGABYTE
SMALL_FILE_GROUPS = 64
FEW_COMMITS = 5
# Thresholds for the share of other files whose range overlaps with that of a file.
LOW_OVERLAP = 0.25
HIGH_OVERLAP = 0.6
MANY_UPDATES = 0.5
FEW_FILES_TOUCHED = 0.2
EVEN_PARTITIONS = 4.0
LEAST_FILES_TO_SKIP = 4
LEAST_PARTITIONS_TO_SKIP = 4
MOST_STATS_COLUMNS = 8
_ORDERS: Mapping[str, KeyOrder] = {"random UUIDs": "random", "hashes": "random", "times": "ordered"}
_GLOBAL: Mapping[str, Advised] = {
    "simple": "global_simple",
    "bloom": "global_bloom",
    "record_level": "global_record_level",
}
# Bytes per entry of the record index, from Hudi's own figures.
RECORD_ENTRY_BYTES = 48


@dataclass(frozen=True, slots=True)
class ColumnSpread:
    """How widely the values of a column spread over files.

    The overlap is the average share of other files whose range overlaps with that of a file. At 0, no value
    is in two files; at 1, each file spans the full range. `partition_overlap` is the same for partitions,
    None for fewer than two.
    """

    name: str
    overlap: float
    partition_overlap: float | None


@dataclass(frozen=True, slots=True)
class TableProfile:
    """The figures on which advice is based.

    Of the latest `commits`, it holds inserted, updated and deleted rows. It also holds the average share of
    file groups and partitions that a commit with updates changes. `looks_up_keys` is whether writes look up
    the file of a key. `key_overlap` is within a partition, None without files to compare. `key_kind` is the
    format of sampled keys.
    """

    table: str
    table_type: str
    index: IndexType
    looks_up_keys: bool
    has_partitions: bool
    rows: int | None
    bytes: int
    file_groups: int
    partitions: int
    largest_partition_bytes: int
    median_partition_bytes: int
    commits: int
    rows_inserted: int
    rows_updated: int
    rows_deleted: int
    file_groups_touched: float
    partitions_touched: float
    key_kind: str
    key_overlap: float | None
    sampled_files: int
    columns: tuple[ColumnSpread, ...]

    @property
    def update_share(self) -> float:
        """The share of updates among all written rows."""
        changed = self.rows_updated + self.rows_deleted
        return changed / max(1, changed + self.rows_inserted)

    @property
    def key_order(self) -> KeyOrder:
        """The order of new keys, which decides whether files hold key ranges."""
        if self.key_overlap is not None:
            if self.key_overlap <= LOW_OVERLAP:
                return "ordered"
            return "random" if self.key_overlap >= HIGH_OVERLAP else "unknown"
        return _ORDERS.get(self.key_kind, "unknown")


@dataclass(frozen=True, slots=True)
class Advice:
    """The recommended configuration.

    `index` is the value for `index: {type: ...}`, `none` if no write looks up keys. `why` are reasons with
    figures, `notes` are caveats. `yaml` are lines to add to the table, empty if the configuration already
    matches.
    """

    index: Advised
    buckets: int | None
    is_change: bool
    why: tuple[str, ...]
    column_stats: tuple[str, ...]
    partition_stats: bool
    why_stats: tuple[str, ...]
    notes: tuple[str, ...]
    yaml: tuple[str, ...]


def advise(profile: TableProfile) -> Advice:
    """Recommend the index for writes and the column statistics for queries."""
    index, why = choose_index(profile)
    buckets = count_buckets(profile) if index == "bucket" else None
    columns, why_stats = choose_column_stats(profile)
    partition_stats = bool(columns) and any(
        one.partition_overlap is not None and one.partition_overlap <= LOW_OVERLAP
        for one in profile.columns
        if one.name in columns
    )
    is_change = index not in {"none", profile.index}
    yaml: list[str] = []
    if is_change:
        yaml.append(f"index: {{type: {index}{f', buckets: {buckets}' if buckets else ''}}}")
    if columns:
        yaml.append(f"column_stats: [{', '.join(columns)}]")
    return Advice(
        index=index,
        buckets=buckets,
        is_change=is_change,
        why=why,
        column_stats=columns,
        partition_stats=partition_stats,
        why_stats=why_stats,
        notes=tuple(_iter_notes(profile, index, columns, is_change=is_change)),
        yaml=tuple(yaml),
    )


def choose_index(profile: TableProfile) -> tuple[Advised, tuple[str, ...]]:
    """Return the index for writes and the reasons."""
    if not profile.looks_up_keys:
        return "none", (
            "rows are only appended: no write looks up the file of a key, so an index has no cost and no "
            "benefit",
        )
    if profile.commits < FEW_COMMITS:
        return profile.index, (f"{profile.commits} commits are too few to show how the table is written",)
    if profile.index == "bucket":
        return "bucket", (
            "the file is computed from the key, without a lookup; an existing table keeps its buckets",
        )
    found, why = _choose_by_figures(profile)
    if profile.index.startswith("global_") and not found.startswith("global_"):
        return _GLOBAL[found], (*why, "global, as it is now: a row moves when its partition changes")
    return found, why


def _choose_by_figures(profile: TableProfile) -> tuple[Advised, tuple[str, ...]]:
    size = f"{_format(profile.bytes)} in {profile.file_groups:,} file groups"
    if profile.bytes <= SMALL_BYTES and profile.file_groups <= SMALL_FILE_GROUPS:
        return "simple", (
            f"the table is small ({size}): reading the keys of the files that a batch may touch is cheaper "
            "than maintaining an index",
        )
    if profile.key_order == "ordered":
        return "bloom", (
            _say_keys(profile),
            f"key ranges and Bloom filters of the files ({size}) therefore locate the file of a key",
        )
    return _choose_for_random_keys(profile, size)


def _choose_for_random_keys(profile: TableProfile, size: str) -> tuple[Advised, tuple[str, ...]]:
    share = f"{profile.update_share:.0%} of the rows of {profile.commits} commits were updates"
    touched = f"a commit with updates changes {profile.file_groups_touched:.0%} of the file groups"
    if profile.has_partitions and profile.partitions_touched <= FEW_FILES_TOUCHED:
        if profile.largest_partition_bytes <= SMALL_BYTES:
            return "simple", (
                f"a commit with updates changes {profile.partitions_touched:.0%} of {profile.partitions:,} "
                f"partitions, and the largest has {_format(profile.largest_partition_bytes)}: only the keys "
                "of those partitions are read",
            )
        return "record_level", (
            _say_keys(profile),
            f"{share}; {touched} ({size}): the index of each partition finds them without reading files",
        )
    skew = profile.largest_partition_bytes / max(1, profile.median_partition_bytes)
    may_be_bucket = not profile.index.startswith("global_")
    if may_be_bucket and profile.update_share >= MANY_UPDATES and skew <= EVEN_PARTITIONS:
        of = (
            f", and the largest partition is {skew:.1f} times the median one"
            if profile.has_partitions
            else ""
        )
        return "bucket", (
            f"{share}; {touched} ({size}){of}: the file is computed from the key, without a lookup",
        )
    found: Advised = "record_level" if profile.has_partitions else "global_record_level"
    uneven = (
        f"; partitions are uneven (the largest is {skew:.1f} times the median one), so buckets would be "
        "uneven, too"
        if profile.has_partitions and skew > EVEN_PARTITIONS
        else ""
    )
    return found, (_say_keys(profile), f"{share}; {touched} ({size}){uneven}")


def count_buckets(profile: TableProfile) -> int:
    """Return the buckets per partition: files of about 0.5 GB after the largest partition has doubled."""
    return max(2, math.ceil(4 * profile.largest_partition_bytes / GIGABYTE))


def choose_column_stats(profile: TableProfile) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns whose statistics let queries skip files, best first, and the reasons."""
    if profile.sampled_files < LEAST_FILES_TO_SKIP:
        return (), (f"{profile.file_groups:,} file groups are too few to skip any",)
    useful = sorted(
        (one for one in profile.columns if one.overlap <= LOW_OVERLAP),
        key=lambda one: (one.overlap, one.name),
    )[:MOST_STATS_COLUMNS]
    if not useful:
        return (), (
            f"in {profile.sampled_files:,} files, every column spans its full range: no query could skip a "
            "file",
        )
    return tuple(one.name for one in useful), tuple(_say_spread(profile, one) for one in useful)


def _say_spread(profile: TableProfile, one: ColumnSpread) -> str:
    others = f"{profile.sampled_files - 1:,} other files"
    reason = f"{one.name}: the values of a file overlap with those of {one.overlap:.0%} of {others}"
    if one.partition_overlap is not None and one.partition_overlap <= LOW_OVERLAP:
        others = f"{profile.partitions - 1:,} others"
        reason += f", those of a partition with {one.partition_overlap:.0%} of {others}"
    return reason


def _iter_notes(
    profile: TableProfile, index: Advised, columns: tuple[str, ...], *, is_change: bool
) -> Iterator[str]:
    if is_change and index == "bucket":
        other = "record_level" if profile.has_partitions else "global_record_level"
        yield (
            "an existing table cannot change to a bucket index: configure a table with another name, which "
            f"is built from the events; or use {other}, which this table supports"
        )
    if index.endswith("record_level") and profile.rows is not None:
        size = _format(profile.rows * RECORD_ENTRY_BYTES)
        yield f"the record index takes about {size} ({profile.rows:,} rows of {RECORD_ENTRY_BYTES} bytes)"
    if index.endswith("record_level") or columns:
        yield "each commit then also writes the metadata table, which slows down small commits"
    wide = [one.name for one in profile.columns if one.overlap >= HIGH_OVERLAP and one.name not in columns]
    if wide and profile.sampled_files >= LEAST_FILES_TO_SKIP:
        yield (
            f"values of {', '.join(wide[:3])} are spread over all files; if queries filter by them, "
            f"`headwater table {profile.table} cluster --sort {wide[0]}` sorts them"
        )


def _say_keys(profile: TableProfile) -> str:
    kind = f"keys look like {profile.key_kind}"
    if profile.key_overlap is None:
        return kind
    partition = " of its partition" if profile.has_partitions else ""
    return f"{kind}; the keys of a file overlap with {profile.key_overlap:.0%} of the other files{partition}"


def _format(size: int) -> str:
    amount, units = float(size), ["B", "kB", "MB", "GB", "TB"]
    while amount >= 1000 and len(units) > 1:
        amount /= 1000
        units.pop(0)
    return f"{amount:,.1f} {units[0]}" if units[0] != "B" else f"{size:,} B"

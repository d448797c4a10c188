"""Excludes the rows that an object outside the window decides: see decision 0057."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.ingest.lineage import OBJECT, ROW, VERSION
from headwater.ingest.rehearsal.row_matching import build_key

_KEY = "_decided_key"


@dataclass(frozen=True, slots=True)
class LiveTable:
    """The rows of the real table, and the addresses of the objects in the window (column `OBJECT`).

    `key` identifies its rows, and only one object decides each; without it, each object has its own rows.
    `is_mirror`: the table follows overwritten and removed objects anyway, so no row counts as lost.
    """

    rows: DataFrame
    objects: DataFrame
    key: tuple[str, ...] = ()
    is_mirror: bool = False


@contextmanager
def held(live: LiveTable | None) -> Iterator[LiveTable | None]:
    """Yield the table with the columns that identify its rows, which are read once.

    A run may clean the files of this snapshot at any time.
    """
    if live is None:
        yield None
        return
    rows = live.rows.select(*dict.fromkeys((*live.key, OBJECT, VERSION, ROW)))
    rows = rows.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield replace(live, rows=rows)
    finally:
        rows.unpersist()


@dataclass(frozen=True, slots=True)
class ComparedRows:
    """The rows of both configurations that are compared, and how many are not; see `RowDifferences`."""

    now: DataFrame
    new: DataFrame
    undecided: int = 0
    unstable: int = 0
    lost: int = 0


def list_addresses(events: DataFrame, prefixes: Mapping[str, str]) -> DataFrame:
    """Return the addresses of the objects that the events name; `prefixes` of addresses by bucket."""
    prefix = F.create_map(*(F.lit(text) for pair in prefixes.items() for text in pair))
    keys = events.select("bucket", "key").distinct()
    return keys.select(F.concat(prefix[F.col("bucket")], "key").alias(OBJECT))


def find_unstable(now: DataFrame, new: DataFrame) -> DataFrame:
    """Return the addresses of the objects of which both have read different contents."""
    before = now.groupBy(OBJECT).agg(F.max(VERSION).alias("before"))
    after = new.groupBy(OBJECT).agg(F.max(VERSION).alias("after"))
    return before.join(after, OBJECT).where("before <> after").select(OBJECT)


def exclude_unstable(now: DataFrame, new: DataFrame, key: Sequence[str]) -> ComparedRows:
    """Return the rows without those of objects that were overwritten between the reads, nor of their keys."""
    unstable = find_unstable(now, new)
    count = unstable.count()
    if not count:
        return ComparedRows(now, new)
    identity = _find_identity(now, new, key)
    keys = _select(now, identity, unstable).union(_select(new, identity, unstable)).distinct()
    return ComparedRows(_without(now, identity, keys), _without(new, identity, keys), unstable=count)


def exclude_undecided(found: ComparedRows, live: LiveTable) -> ComparedRows:
    """Return the rows without those whose key or object the table has from elsewhere, or not at all."""
    now, new = found.now, found.new
    identity = live.key if set(live.key) <= set(now.columns) and live.key else (OBJECT,)
    in_table = live.rows.select(build_key(identity).alias(_KEY), OBJECT)
    absent = now.select(build_key(identity).alias(_KEY)).join(in_table, _KEY, "left_anti")
    elsewhere = in_table.join(live.objects, OBJECT, "left_anti").select(_KEY)
    keys = absent.union(elsewhere).distinct() if live.key else absent.distinct()
    if set(identity) <= set(new.columns):
        kept_now, kept_new = _without(now, identity, keys), _without(new, identity, keys)
    else:
        # The new file drops a column of the key: its rows are those of the same records.
        excluded = now.withColumn(_KEY, build_key(identity)).join(keys, _KEY, "left_semi")
        records = excluded.select(build_key((OBJECT, ROW)).alias(_KEY)).distinct()
        kept_now, kept_new = _without(now, identity, keys), _without(new, (OBJECT, ROW), records)
    undecided = max(now.count() - kept_now.count(), new.count() - kept_new.count())
    return ComparedRows(kept_now, kept_new, undecided, found.unstable, _count_lost(now, live))


def _count_lost(now: DataFrame, live: LiveTable) -> int:
    """Return how many rows of the table, of objects in the window, the current file no longer makes."""
    if live.is_mirror:
        return 0
    identity = live.key if live.key and set(live.key) <= set(now.columns) else (OBJECT, VERSION, ROW)
    in_window = live.rows.join(live.objects, OBJECT, "left_semi").select(build_key(identity).alias(_KEY))
    return in_window.join(now.select(build_key(identity).alias(_KEY)), _KEY, "left_anti").count()


def _find_identity(now: DataFrame, new: DataFrame, key: Sequence[str]) -> Sequence[str]:
    is_known = key and set(key) <= set(now.columns) & set(new.columns)
    return key if is_known else (OBJECT,)


def _select(frame: DataFrame, identity: Sequence[str], objects: DataFrame) -> DataFrame:
    return frame.join(objects, OBJECT, "left_semi").select(build_key(identity).alias(_KEY))


def _without(frame: DataFrame, identity: Sequence[str], keys: DataFrame) -> DataFrame:
    return frame.withColumn(_KEY, build_key(identity)).join(keys, _KEY, "left_anti").drop(_KEY)

"""How many rows of a data table come from which version of which object."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.ingest.planning.verification import WriteCounts
from headwater.ingest.reading.lineage import EVENT_ID, OBJECT, VERSION
from headwater.ingest.retraction import REMOVED_AT
from headwater.lake.table import Table


@dataclass(frozen=True, slots=True)
class OutsideRows:
    """Rows of objects that are not in the source: their `objects`, their number, and the first address."""

    objects: int = 0
    rows: int = 0
    example: str = ""


def find_row_counts(table: Table, uris: Sequence[str]) -> dict[str, WriteCounts]:
    """By address, of those of the objects that have rows. Raises `LakeError`."""
    if not table.load_timeline().exists():
        return {}
    counted = _count(table.read().where(F.col(OBJECT).isin(list(uris))))
    return {row[OBJECT]: _group(row["writes"]) for row in counted.collect()}


def iter_row_counts(table: Table, uri_prefix: str) -> Iterator[tuple[str, WriteCounts]]:
    """Key below `uri_prefix`, and what its versions have; in the order of keys. Raises `LakeError`."""
    if not table.load_timeline().exists():
        return
    counted = _count(table.read().where(F.col(OBJECT).startswith(uri_prefix)))
    for row in counted.orderBy(OBJECT).toLocalIterator(prefetchPartitions=True):
        yield row[OBJECT][len(uri_prefix) :], _group(row["writes"])


def count_outside(table: Table, uri_prefix: str) -> OutsideRows:
    """Rows of objects whose addresses do not begin with `uri_prefix`; rows of no object do not count.

    Raises `LakeError`.
    """
    if not table.load_timeline().exists():
        return OutsideRows()
    rows = table.read()
    if OBJECT not in rows.columns:
        return OutsideRows()
    outside = rows.where(F.col(OBJECT).isNotNull() & ~F.col(OBJECT).startswith(uri_prefix))
    objects = outside.groupBy(OBJECT).agg(F.count(F.lit(1)).alias("rows"))
    row = objects.agg(
        F.count(F.lit(1)), F.coalesce(F.sum("rows"), F.lit(0)), F.coalesce(F.min(OBJECT), F.lit(""))
    ).first()
    return OutsideRows() if row is None else OutsideRows(*row)


def _count(rows: DataFrame) -> DataFrame:
    if REMOVED_AT in rows.columns:
        rows = rows.where(F.col(REMOVED_AT).isNull())
    version: Column = F.coalesce(VERSION, F.lit("")).alias("version")
    counted = rows.groupBy(OBJECT, version, EVENT_ID).agg(F.count(F.lit(1)).alias("rows"))
    return counted.groupBy(OBJECT).agg(F.collect_list(F.struct("version", "rows")).alias("writes"))


def _group(writes: Sequence[tuple[str, int]]) -> WriteCounts:
    found: dict[str, list[int]] = {}
    for version, rows in writes:
        found.setdefault(version, []).append(rows)
    return found

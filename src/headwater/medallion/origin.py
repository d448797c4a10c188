"""Derives rows from a source table and tracks the source row of each."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from headwater.ingest.columns.conforming import make_storable
from headwater.ingest.lineage import SOURCE_KEY, SOURCE_ROW
from headwater.lake.options import DELETED
from headwater.lake.transforms.chain import Chain, check_storable
from headwater.lake.transforms.checking import SOURCE


def derive_rows(table: str, source: DataFrame, key: Column, chain: Chain, *, is_numbered: bool) -> DataFrame:
    """Apply a chain to source rows, lazily, and add the `key` of the source row. Raises `TransformError`.

    `is_numbered` adds its number among the results of the same source row.
    """
    rows = make_storable(chain.apply(_drop_own(source.withColumn(SOURCE, key)), SOURCE))
    data = [name for name in rows.columns if name != SOURCE]
    check_storable(table, rows, [SOURCE])
    rows = rows.select(*_quoted(data), F.col(SOURCE).alias(SOURCE_KEY))
    if not is_numbered:
        return rows
    if not chain.may_multiply:
        return rows.withColumn(SOURCE_ROW, F.lit(1))
    # Any deterministic order works.
    of_one = Window.partitionBy(SOURCE_KEY).orderBy(F.to_json(F.struct(*_quoted(data))))
    return rows.withColumn(SOURCE_ROW, F.row_number().over(of_one))


def derive_complete(table: str, sources: Mapping[str, DataFrame], chain: Chain) -> DataFrame:
    """Apply a chain to all source rows at once, lazily; it may aggregate. Raises `TransformError`.

    The first transform joins several sources, by the names that it reads them by.
    """
    frames = {name: _drop_own(source) for name, source in sources.items()}
    if len(frames) > 1:
        rows = make_storable(chain.join(frames))
    else:
        rows = make_storable(chain.apply(next(iter(frames.values())), None))
    check_storable(table, rows, [])
    return rows


def _drop_own(source: DataFrame) -> DataFrame:
    """Drop Hudi's columns, and those with which the source itself follows another table."""
    hidden = [name for name in source.columns if name.startswith("_hoodie_")]
    return source.drop(*hidden, DELETED, SOURCE_KEY, SOURCE_ROW)


def _quoted(names: list[str]) -> list[Column]:
    return [F.col(f"`{name}`") for name in names]

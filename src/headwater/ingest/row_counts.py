"""How many rows of a data table come from which version of which object."""

from collections.abc import Iterator, Mapping

from pyspark.sql import functions as F

from headwater.ingest.reading.lineage import OBJECT, VERSION
from headwater.lake.table import Table


def count_rows(table: Table, uri: str) -> Mapping[str, int]:
    """Rows of one object by version. Raises `LakeError`."""
    found = table.read().where(F.col(OBJECT) == F.lit(uri)).groupBy(VERSION).count().collect()
    return {row[VERSION]: row["count"] for row in found}


def iter_row_counts(table: Table, uri_prefix: str) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Key below `uri_prefix`, and its rows by version; in the order of keys. Raises `LakeError`."""
    if not table.load_timeline().exists():
        return
    counted = table.read().groupBy(OBJECT, VERSION).agg(F.count(F.lit(1)).alias("rows"))
    by_version = F.map_from_entries(F.collect_list(F.struct(F.coalesce(VERSION, F.lit("")), "rows")))
    found = counted.where(F.col(OBJECT).startswith(uri_prefix)).groupBy(OBJECT).agg(by_version.alias("rows"))
    for row in found.orderBy(OBJECT).toLocalIterator(prefetchPartitions=True):
        yield row[OBJECT][len(uri_prefix) :], row["rows"]

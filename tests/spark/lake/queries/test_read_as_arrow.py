"""What only Spark can read becomes an Arrow table with the types and values of Arrow."""

from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
from pyspark.sql import SparkSession

from headwater.lake.queries.spark import read_as_arrow

EVERY_TYPE = """
select 1 as i, cast(null as int) as absent, 2.5d as f, cast('1.50' as decimal(9,2)) as d, true as b, 'x' as s,
  timestamp'2026-11-28 12:00:00 UTC' as t, date'2026-11-28' as day, unhex('00ff') as raw,
  array(named_struct('id', 1, 'at', timestamp'2026-11-28 12:00:00 UTC')) as items, map('a', 1) as m
"""


def test_rows_have_the_types_of_their_columns(spark: SparkSession) -> None:
    table = read_as_arrow(spark.sql(EVERY_TYPE), "/lake/orders")
    at = datetime(2026, 11, 28, 12, tzinfo=timezone.utc)
    assert table.schema.field("d").type == pa.decimal128(9, 2)
    assert pa.types.is_timestamp(table.schema.field("t").type)
    (row,) = table.to_pylist()
    assert row["t"] == at
    assert row["items"] == [{"id": 1, "at": at}]
    assert (row["i"], row["absent"], row["f"], row["d"], row["b"]) == (1, None, 2.5, Decimal("1.50"), True)
    assert (row["s"], row["day"], row["raw"], row["m"]) == ("x", date(2026, 11, 28), b"\x00\xff", [("a", 1)])


def test_no_rows_keep_their_columns(spark: SparkSession) -> None:
    table = read_as_arrow(spark.sql(f"select * from ({EVERY_TYPE}) where i > 1"), "/lake/orders")
    assert (table.num_rows, table.num_columns) == (0, 11)

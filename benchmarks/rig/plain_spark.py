"""What one would write without us: `spark.read.json(paths)` and a Hudi write, with our write options."""

import time
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from headwater.lake.options import WriteOptions


def build_upsert_options(record_key: str, ordering: str) -> dict[str, str]:
    """Those of a merge table named orders."""
    options = WriteOptions(
        table_name="orders", operation="upsert", record_key=(record_key,), ordering=(ordering,)
    )
    return options.to_hoodie()


def read_and_write(
    spark: SparkSession, paths: Sequence[str], table: Path, record_key: str, ordering: str
) -> float:
    """Seconds from listing the paths to the end of the commit."""
    options = build_upsert_options(record_key, ordering)
    started = time.monotonic()
    frame = spark.read.json(list(paths))
    frame.write.format("hudi").options(**options).mode("append").save(str(table))
    return time.monotonic() - started

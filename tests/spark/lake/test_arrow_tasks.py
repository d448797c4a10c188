"""`map_in_arrow` in PySpark's own workers."""

import os
import sys
from collections.abc import Iterable, Iterator
from zipimport import zipimporter

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from headwater.lake.arrow_tasks import map_in_arrow


def test_the_next_task_of_a_worker_finds_no_importer_of_an_archive(spark: SparkSession) -> None:
    def count_archives(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            found = sum(isinstance(found, zipimporter) for found in sys.path_importer_cache.values())
            yield pa.RecordBatch.from_pydict({"worker": [os.getpid()], "archives": [found]})

    schema = StructType([StructField("worker", LongType()), StructField("archives", LongType())])
    frame = map_in_arrow(spark.range(1).coalesce(1), count_archives, schema)

    by_worker: dict[int, list[int]] = {}
    while all(len(found) < 2 for found in by_worker.values()):  # a session may have several idle workers
        for row in frame.collect():
            by_worker.setdefault(row["worker"], []).append(row["archives"])

    assert [found[1] for found in by_worker.values() if len(found) == 2] == [0]

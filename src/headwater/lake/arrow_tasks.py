"""Functions of Arrow batches as Spark tasks, without what PySpark spends on imports before each task.

PySpark's workers call `importlib.invalidate_caches` twice before each task. For each archive that a module
was looked for in, Python then reads the whole directory again: PySpark's own archives, several times, and
the 5,000 entries of Spark's core jar. That takes 0.1 s of CPU, as long as fetching 500 small objects.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from zipimport import zipimporter

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

MapBatches = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]


def map_in_arrow(frame: DataFrame, function: MapBatches, schema: StructType) -> DataFrame:
    """Return the lazy result of `function` for each partition of a frame: see `DataFrame.mapInArrow`."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from function(batches)
        finally:
            forget_archives()

    return frame.mapInArrow(run, schema)


def forget_archives() -> None:
    """Drop this process's importers of archives; the next import that needs one builds it from memory."""
    archives = [path for path, found in sys.path_importer_cache.items() if isinstance(found, zipimporter)]
    for path in archives:
        sys.path_importer_cache.pop(path, None)

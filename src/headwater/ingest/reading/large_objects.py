"""Large objects: read by Spark in splits, with the same records and row numbers as if read whole."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import compress

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from headwater.errors import ObjectError
from headwater.ingest.decoding.reader_options import ReaderOptions
from headwater.ingest.object_stores import build_object_store
from headwater.ingest.reading.object_reader import OUTCOME_SCHEMA, ReaderConfig, RecordParser, Request
from headwater.ingest.reading.split_scan import Block, SplitScan, is_large, number_blocks

__all__ = ["LargeObjectReader", "LargeRead", "is_large"]

_MAX_LAYOUTS = 20
"""Different headers of CSV objects in one batch that Spark is asked to parse; each is an expression."""

_STATE_THREADS = 8


@dataclass(frozen=True, slots=True)
class LargeRead:
    """`frame` as `ObjectReader` has it, for the objects in `split`; the others must be read whole."""

    frame: DataFrame | None
    split: tuple[Request, ...]
    whole: tuple[Request, ...]


class LargeObjectReader:
    """Reads what Spark's own readers can split. Whatever is odd about an object, it is left to be read
    whole, which finds the reason and gives it: missing, superseded, broken, an array on a line ...
    """

    def __init__(self, spark: SparkSession, config: ReaderConfig, scheme: str) -> None:
        self._spark = spark
        self._config = config
        self._scan = SplitScan(spark, config, scheme)
        self._parser = RecordParser(config.file_format, config.schema, config.options)

    def read(self, requests: Sequence[Request]) -> LargeRead:
        """Scans the objects once to number their rows, then parses lazily."""
        named = self._keep_unchanged(requests)
        blocks = self._number(named)
        odd = {block.object_index for block in blocks if block.is_odd}
        known = {block.object_index for block in blocks} - odd
        layouts = self._scan.read_layouts([r for r in named if r.object_index in known], blocks)
        # An object without any block has no rows; reading it whole says what it is.
        split = tuple(r for r in named if layouts.get(r.object_index, _MAX_LAYOUTS) < _MAX_LAYOUTS)
        whole = tuple(r for r in requests if r not in set(split))
        if not split:
            return LargeRead(None, (), whole)
        kept = {request.object_index for request in split}
        mine = [block for block in blocks if block.object_index in kept]
        frame = self._build_outcomes(split).unionByName(self._parse(named, mine, layouts))
        return LargeRead(frame, split, whole)

    def find_changed(self, requests: Sequence[Request]) -> list[Request]:
        """Those under whose keys something else lies now than their events named."""
        kept = set(self._keep_unchanged(requests))
        return [request for request in requests if request not in kept]

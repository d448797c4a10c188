"""Large objects: read by Spark in splits, with the same records and row numbers as if read whole."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructType

from headwater.errors import ObjectError
from headwater.ingest.evolution.schema_sample import SchemaSample
from headwater.ingest.parsing.record_parser import RecordParser
from headwater.ingest.planning.window import EVERYTHING, Window
from headwater.ingest.reading.csv_layouts import CsvLayouts
from headwater.ingest.reading.large_sampler import LargeSampler
from headwater.ingest.reading.object_reader import (
    OUTCOME_SCHEMA,
    ReaderConfig,
    RecordParsing,
)
from headwater.ingest.reading.resolution import ReadRequest
from headwater.ingest.reading.split_scan import (
    LINE_FORMATS,
    Block,
    SplitScan,
    number_blocks,
)
from headwater.lake.local_frames import build_frame
from headwater.sources.object_store import ObjectStore, ObjectStoreConfig
from headwater.sources.registry import build_object_store

_STATE_THREADS = 8
_NUMBERS_SCHEMA = (
    StructType()
    .add("object_index", IntegerType())
    .add("block_start", LongType())
    .add("offset", LongType())
    .add("first_record", LongType())
    .add("layout", IntegerType())
    .add("has_header", BooleanType())
)


@dataclass(frozen=True, slots=True)
class LargeRead:
    """`frame` as in `ObjectReader`, for the objects in `split`; those in `whole` are not in it.

    Records of the objects `reordered` (indexes) do not have their fields in the order of the columns.
    """

    frame: DataFrame | None
    split: tuple[ReadRequest, ...]
    whole: tuple[ReadRequest, ...]
    reordered: frozenset[int] = frozenset()


class LargeObjectReader:
    """Reads objects that Spark's own readers can split.

    Irregular objects are left to be read whole, which identifies the problem: missing, superseded, truncated,
    types to be widened, arrays on lines.
    """

    def __init__(self, spark: SparkSession, config: ReaderConfig) -> None:
        self._spark = spark
        self._config = config
        self._scan = SplitScan(spark, config)

    def read(self, requests: Sequence[ReadRequest]) -> LargeRead:
        """Scan the objects once to number their rows, then parse lazily."""
        blocks, scanned = self._scan.scan(keep_present(self._config.store, requests, self._config.window))
        odd = {block.object_index for block in blocks if block.is_odd}
        odd |= self._scan.find_incomplete(scanned, blocks)
        known = {block.object_index for block in blocks} - odd
        flagged = {block.object_index for block in blocks if block.has_unknown}
        findings = LargeSampler(self._config, self._scan).sample(
            [request for request in scanned if request.object_index in known], flagged
        )
        known -= findings.whole
        layouts = CsvLayouts(self._config)
        # An object without a block has no rows visible to Spark.
        split = [r for r in scanned if r.object_index in known and self._learn_layout(layouts, r)]
        taken = {request.object_index for request in split}
        whole = tuple(request for request in requests if request.object_index not in taken)
        if not split:
            return LargeRead(None, (), whole)
        mine = [block for block in blocks if block.object_index in taken]
        frame = self._build_outcomes(split, findings.samples).unionByName(self._parse(scanned, mine, layouts))
        return LargeRead(frame, tuple(split), whole, layouts.reordered)

    def _learn_layout(self, layouts: CsvLayouts, request: ReadRequest) -> bool:
        if not layouts.may_have_header:
            return True
        head = self._scan.read_head(request, 1)
        return bool(head) and layouts.add(request.object_index, head[0])

    def _parse(
        self, scanned: Sequence[ReadRequest], blocks: Sequence[Block], layouts: CsvLayouts
    ) -> DataFrame:
        config = self._config
        rows = [
            (
                *(n.object_index, n.start, n.offset, n.first_record),
                *(layouts.find(n.object_index), layouts.has_header(n.object_index)),
            )
            for n in number_blocks(blocks)
        ]
        numbers = build_frame(self._spark, rows, _NUMBERS_SCHEMA)
        loaded = self._scan.load(scanned).join(
            F.broadcast(numbers), on=["object_index", "block_start"], how="inner"
        )
        loaded = loaded.withColumn("row_number", F.col("row_id") + F.col("offset"))
        if config.file_format in LINE_FORMATS:
            loaded = loaded.where(self._scan.is_record(F.col("value")))
            loaded = loaded.withColumn("value", self._scan.build_marked(F.col("value")))
        if layouts.may_have_header:
            is_header = F.col("has_header") & (F.col("row_number") == F.col("first_record"))
            loaded = loaded.where(~is_header)
        parser = RecordParser(config.file_format, config.schema, config.options, config.numbers)
        parsed = layouts.parse(loaded, parser).withColumn("outcome", F.lit(None).cast(OUTCOME_SCHEMA))
        if config.rescues:
            # An object with values that fit no column is read whole.
            parsed = parsed.withColumn("rescued", F.lit(None).cast(StringType()))
        return RecordParsing(config).select(parsed)

    def _build_outcomes(
        self, requests: Sequence[ReadRequest], samples: Mapping[int, SchemaSample]
    ) -> DataFrame:
        rescued = (None, None) if self._config.rescues else ()
        rows = []
        for request in requests:
            ref = request.ref
            # Blank lines and headers are not records yet: callers that need rows must count.
            sample = samples.get(request.object_index) if self._config.reports else None
            sample_text = sample.to_text() if sample else None
            outcome = (
                "read",
                None,
                None,
                ref.size,
                None,
                ref.etag,
                ref.version_id,
                None,
                None,
                None,
                sample_text,
            )
            rows.append((request.object_index, None, None, None, outcome, *rescued))
        schema = (
            StructType()
            .add("object_index", IntegerType())
            .add("row_number", LongType())
            .add("record", self._config.schema)
            .add("corrupt", StringType())
            .add("outcome", OUTCOME_SCHEMA)
        )
        if rescued:
            schema = schema.add("misfit", StringType()).add("rescued", StringType())
        return self._spark.createDataFrame(rows, schema)


def keep_present(
    store_config: ObjectStoreConfig, requests: Sequence[ReadRequest], window: Window = EVERYTHING
) -> list[ReadRequest]:
    """Select requests whose object is in the window, and current: Spark cannot read by version or etag."""
    store = build_object_store(store_config)
    with ThreadPoolExecutor(_STATE_THREADS, thread_name_prefix="state") as pool:
        found = pool.map(lambda request: _find_present(store, request, window), requests)
        return [request for request in found if request]


def _find_present(store: ObjectStore, request: ReadRequest, window: Window) -> ReadRequest | None:
    """Return the request, with the etag that it found if it named none; None if it names another content."""
    ref = request.ref
    try:
        state = store.state(ref)
    except ObjectError:
        return None
    if state is None or state.size != ref.size or not window.has(state.last_modified):
        return None
    if ref.version_id:
        return request if ref.version_id == state.version_id else None
    if ref.etag is None:
        return replace(request, ref=replace(ref, etag=state.etag))
    return request if ref.etag == state.etag else None

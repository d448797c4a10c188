"""Reads objects of a batch to one DataFrame of parsed records, fetched and parsed in executors."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from headwater.config.file_format import PACKED_SUFFIXES
from headwater.ingest.evolution.rescued_data import build_misfits, join_json
from headwater.ingest.fetching.object_fetch import FetchPlan, fetch_objects
from headwater.ingest.fetching.outcome_rows import FetchOutcome
from headwater.ingest.formats import HEAVY_FORMATS
from headwater.ingest.formats.markers import MARKER
from headwater.ingest.formats.record_reasons import UNPARSABLE
from headwater.ingest.misfits.finder import MisfitFinder
from headwater.ingest.parsing.record_parser import COLUMN_FORMATS, RecordParser
from headwater.ingest.planning.batch_tasks import HANDFUL_BYTES, FetchWork, estimate_size
from headwater.ingest.planning.window import EVERYTHING, Window
from headwater.ingest.reading.handful import fetch_here, reserve_driver
from headwater.ingest.reading.resolution import ReadRequest, SeenObject
from headwater.lake.arrow_tasks import map_in_arrow
from headwater.lake.executors import count_cores, has_executors
from headwater.lake.local_frames import load_arrow
from headwater.sources.object_store import ObjectStoreConfig

_REQUEST_SCHEMA = StructType(
    [
        StructField("object_index", IntegerType(), nullable=False),
        StructField("provider", StringType()),
        StructField("bucket", StringType()),
        StructField("key", StringType()),
        StructField("version_id", StringType()),
        StructField("etag", StringType()),
        StructField("size", LongType()),
    ]
)

OUTCOME_SCHEMA = StructType(
    [
        StructField("status", StringType()),
        StructField("reason", StringType()),
        StructField("detail", StringType()),
        StructField("bytes", LongType()),
        StructField("rows", LongType()),
        StructField("etag", StringType()),
        StructField("version_id", StringType()),
        StructField("present_etag", StringType()),
        StructField("present_version_id", StringType()),
        StructField("present_size", LongType()),
        StructField("schema_sample", StringType()),
    ]
)

MAX_BAD_AT_HAND = 1_000
"""Maximum number of bad records collected in the driver; above it they are only counted."""
FIRST_CHARS = 200
_EXPLAINED_CHARS = 4_000
"""Size of an object's first bad record from which on its field is not named."""
MAX_BAD_CHARS = 256 * 1024
"""Maximum size of their collected texts; larger ones are null."""


@dataclass(frozen=True, slots=True)
class ReaderConfig:
    """How a table reads its objects. `schema` are the data columns, in order.

    `reports`: objects report columns that it lacks; `rescues`: records keep values without a column.
    `ignored` are names that are never new columns. `numbers` are columns of numbers whose texts are checked:
    see `Corrections`. `window` as in `FetchPlan`.
    """

    store: ObjectStoreConfig
    file_format: str
    options: Mapping[str, str]
    schema: StructType
    max_object_bytes: int
    max_record_bytes: int
    reports: bool = False
    rescues: bool = False
    ignored: tuple[str, ...] = ()
    numbers: frozenset[str] = frozenset()
    window: Window = EVERYTHING


@dataclass(frozen=True, slots=True)
class Records:
    """A frame of `ObjectReader`.

    `is_at_hand`: the rows are in this process, so a scan starts no job; persisting them would. `misfits`
    finds what is wrong with records that do not fit.
    """

    frame: DataFrame
    is_at_hand: bool = False
    misfits: MisfitFinder = field(default_factory=MisfitFinder)


class ObjectReader:
    """Builds lazy frames `(object_index, row_number, record, corrupt, outcome)`.

    `record` is a struct of the data columns. `corrupt` is the text of a record that does not fit them, which
    may start with a marker (see `formats.markers`). One row per object has only `outcome` (see
    `object_fetch`). If the table rescues, there are two more columns. `rescued` is JSON of values that
    `record` lacks. `misfit` is the record's text if it lacks them because of their types.
    """

    def __init__(self, spark: SparkSession, config: ReaderConfig) -> None:
        self._spark = spark
        self._config = config

    @cached_property
    def _parsing(self) -> "RecordParsing":
        return RecordParsing(self._config)

    def read(self, requests: Sequence[ReadRequest]) -> Records:
        """Read in executors, lazily; a few small objects immediately in this process, which is faster."""
        config = self._config
        plan = FetchPlan(
            store=config.store,
            format=config.file_format,
            options=dict(config.options),
            columns=tuple(config.schema.fieldNames()),
            arrow_schema=bytes(to_arrow_schema(config.schema).serialize()),
            max_object_bytes=config.max_object_bytes,
            max_record_bytes=config.max_record_bytes,
            reports=config.reports,
            rescues=config.rescues,
            ignored=config.ignored,
            window=config.window,
        )
        wanted, work = _to_arrow(requests), _measure(requests, config.file_format)
        if config.file_format not in COLUMN_FORMATS and work.is_handful and _has_bounded_size(requests):
            with reserve_driver(is_alone=not has_executors(self._spark)) as is_free:
                if is_free:
                    if any(request.ref.size is None for request in requests):
                        plan = replace(plan, max_fetched_bytes=HANDFUL_BYTES)
                    fetched = fetch_here(self._spark, wanted, plan, OUTCOME_SCHEMA)
                    return Records(self._parsing.parse(fetched), is_at_hand=True)

        def fetch(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return fetch_objects(iter(batches), plan)

        value = config.schema if config.file_format in COLUMN_FORMATS else StringType()
        schema = StructType(
            [
                StructField("object_index", IntegerType()),
                StructField("row_number", LongType()),
                StructField("value", value),
                StructField("outcome", OUTCOME_SCHEMA),
                *([StructField("rescued", StringType())] if config.rescues else []),
            ]
        )
        fetched = map_in_arrow(self._distribute(wanted, work), fetch, schema)
        return Records(self._parsing.parse(fetched))

    def _distribute(self, wanted: pa.Table, work: FetchWork) -> DataFrame:
        frame, cores = load_arrow(self._spark, wanted, _REQUEST_SCHEMA), count_cores(self._spark)
        tasks = work.count_tasks(cores)
        if tasks <= cores:
            # createDataFrame already spreads the rows over all cores.
            return frame.coalesce(tasks)
        if self._config.store.reads_ahead:
            return frame.repartitionByRange(tasks, "object_index")
        return frame.repartition(tasks)


def _to_arrow(requests: Sequence[ReadRequest]) -> pa.Table:
    refs = [request.ref for request in requests]
    text = pa.string()
    return pa.table(
        {
            "object_index": pa.array([request.object_index for request in requests], pa.int32()),
            "provider": pa.array([ref.provider for ref in refs], text),
            "bucket": pa.array([ref.bucket for ref in refs], text),
            "key": pa.array([ref.key for ref in refs], text),
            "version_id": pa.array([ref.version_id for ref in refs], text),
            "etag": pa.array([ref.etag for ref in refs], text),
            "size": pa.array([ref.size for ref in refs], pa.int64()),
        }
    )


def _measure(requests: Sequence[ReadRequest], file_format: str) -> FetchWork:
    # Large objects of unknown size are rejected by the driver, and then read by their size.
    refs = (request.ref for request in requests)
    total = sum(estimate_size(ref.size or 0, ref.key, file_format) for ref in refs)
    return FetchWork(len(requests), total, is_heavy=file_format in HEAVY_FORMATS)


def _has_bounded_size(requests: Sequence[ReadRequest]) -> bool:
    """True if the objects take no more of the driver's memory, which is shared, than a handful may."""
    if any(request.ref.key.lower().endswith(PACKED_SUFFIXES) for request in requests):
        return False
    return not any(request.ref.size is None and request.ref.version_id for request in requests)


class RecordParsing:
    """Parses fetched texts to the columns of `ObjectReader`'s frames. Builds expressions once per schema."""

    def __init__(self, config: ReaderConfig) -> None:
        self._config = config
        self._parser = RecordParser(config.file_format, config.schema, config.options, config.numbers)
        is_record, parsed = F.col("outcome").isNull(), F.col("parsed")
        corrupt = self._parser.build_corrupt(parsed)
        if config.file_format not in COLUMN_FORMATS:
            corrupt = F.when(F.col("value").startswith(MARKER), F.col("value")).otherwise(corrupt)
        self._columns = [
            F.col("object_index"),
            F.col("row_number"),
            self._parser.select_record(parsed).alias("record"),
            F.when(is_record, corrupt).alias("corrupt"),
            F.col("outcome"),
        ]
        self._rescue = _Rescue(config, self._parser) if config.rescues else None

    def parse(self, fetched: DataFrame) -> DataFrame:
        """Parse `value`."""
        return self.select(self._parser.add_record(fetched, "parsed", F.col("outcome").isNull()))

    def select(self, frame: DataFrame) -> DataFrame:
        """Select the columns from a frame that already has `parsed`."""
        if self._rescue is None:
            return frame.select(*self._columns)
        found = frame.select(*self._columns, "value", "parsed", "rescued")
        return self._rescue.add(found)


class _Rescue:
    """Removes misfit values from corrupt records, which are then no longer corrupt."""

    def __init__(self, config: ReaderConfig, parser: RecordParser) -> None:
        is_typed = config.file_format in COLUMN_FORMATS
        no_text = F.lit(None).cast(StringType())
        built = (
            no_text
            if is_typed
            else build_misfits(
                config.file_format, config.schema, parser.options, F.col("value"), F.col("parsed")
            )
        )
        text, misfits = (no_text if is_typed else F.col("value")), F.col("misfits")
        self._misfits = F.when(F.col("corrupt").isNotNull() & ~F.col("corrupt").startswith(MARKER), built)
        self._columns = [
            *(F.col(name) for name in ("object_index", "row_number", "record")),
            F.when(misfits.isNull(), F.col("corrupt")).alias("corrupt"),
            F.col("outcome"),
            F.when(misfits.isNotNull(), text).alias("misfit"),
            join_json(F.col("rescued"), misfits).alias("rescued"),
        ]

    def add(self, frame: DataFrame) -> DataFrame:
        return frame.withColumn("misfits", self._misfits).select(*self._columns)


@dataclass(frozen=True, slots=True)
class SeenRecords:
    """The result of a scan of the records, by `object_index`.

    `bad` are `object_index` and `corrupt` of the records that do not fit, without texts above
    `MAX_BAD_CHARS`; None for more than `MAX_BAD_AT_HAND`.
    """

    objects: Mapping[int, SeenObject]
    bad: Sequence[Row] | None


def scan_records(records: Records) -> SeenRecords:
    """Scan the frame, which persists it; count by object only if needed."""
    if records.is_at_hand:
        # Spark evaluates local rows during planning if the plan has only column expressions.
        reported = records.frame.where(F.col("outcome").isNotNull() | F.col("corrupt").isNotNull())
        rows = reported.select("object_index", "outcome", "corrupt").collect()
        outcomes = [row for row in rows if row["outcome"] is not None]
        return _count_at_hand(outcomes, [row for row in rows if row["outcome"] is None], records.misfits)
    return _observe(records.frame, records.misfits)


def _observe(frame: DataFrame, misfits: MisfitFinder) -> SeenRecords:
    corrupt = Observation()
    observed = frame.observe(corrupt, F.count("corrupt").alias("records"))
    outcomes = observed.where(F.col("outcome").isNotNull()).select("object_index", "outcome").collect()
    count = corrupt.get["records"]
    few = count <= MAX_BAD_AT_HAND
    found = _select_bad(frame).collect() if count and few else []
    if few and all(row["outcome"]["rows"] is not None for row in outcomes):
        return _count_at_hand(outcomes, found, misfits)
    counts = {row["object_index"]: row for row in _count_records(frame)}
    objects = {
        row["object_index"]: _to_seen(row, counts.get(row["object_index"]), misfits) for row in outcomes
    }
    return SeenRecords(objects, found if few else None)


def _select_bad(frame: DataFrame) -> DataFrame:
    # A bad record may be as large as its object.
    text = F.when(F.length("corrupt.text") <= MAX_BAD_CHARS, F.col("corrupt.text"))
    corrupt = F.struct("corrupt.reason", text.alias("text"), "corrupt.detail")
    return frame.where(F.col("corrupt").isNotNull()).select("object_index", corrupt.alias("corrupt"))


def _count_at_hand(outcomes: Sequence[Row], bad: Sequence[Row], misfits: MisfitFinder) -> SeenRecords:
    """Count records if each outcome has their number."""
    counts = Counter(row["object_index"] for row in bad)
    first = {row["object_index"]: row["corrupt"] for row in reversed(bad)}
    objects = {}
    for row in outcomes:
        at, outcome = row["object_index"], _to_fetched(row["outcome"])
        described = _describe(at, first.get(at), misfits)
        objects[at] = SeenObject(outcome, outcome.rows - counts[at], counts[at], *described)
    return SeenRecords(objects, bad if len(bad) <= MAX_BAD_AT_HAND else None)


def _describe(object_index: int, corrupt: Row | None, misfits: MisfitFinder) -> tuple[str, str, str]:
    """Return start, reason and fault of an object's first bad record."""
    if corrupt is None:
        return ("", "", "")
    text, reason = corrupt["text"] or "", corrupt["reason"]
    if reason != UNPARSABLE:
        return (text[:FIRST_CHARS], reason, "")
    found = misfits.find(object_index, text) if len(text) < _EXPLAINED_CHARS else None
    fault = corrupt["detail"] or (found.describe_without_value() if found else "")
    return (text[:FIRST_CHARS], reason, fault)


def _count_records(frame: DataFrame) -> list[Row]:
    is_bad = F.col("corrupt").isNotNull()
    text = F.substring("corrupt.text", 1, _EXPLAINED_CHARS).alias("text")
    first = F.struct(text, "corrupt.reason", "corrupt.detail")
    return (
        frame.where(F.col("outcome").isNull())
        .groupBy("object_index")
        .agg(
            F.count(F.lit(1)).alias("all"),
            F.count("corrupt").alias("bad"),
            F.min_by(first, F.when(is_bad, F.col("row_number"))).alias("first"),
        )
        .collect()
    )


def _to_seen(row: Row, counts: Row | None, misfits: MisfitFinder) -> SeenObject:
    at, outcome = row["object_index"], _to_fetched(row["outcome"])
    if counts is None:
        return SeenObject(outcome, 0)
    good, bad = counts["all"] - counts["bad"], counts["bad"]
    return SeenObject(outcome, good, bad, *_describe(at, counts["first"], misfits))


def _to_fetched(outcome: Row) -> FetchOutcome:
    return FetchOutcome(**outcome.asDict())

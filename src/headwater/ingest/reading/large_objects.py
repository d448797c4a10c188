"""Large objects: read by Spark in splits, with the same records and row numbers as if read whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from headwater.ingest.reading.lineage import build_uri
from headwater.ingest.reading.object_reader import (
    OUTCOME_SCHEMA,
    ReaderConfig,
    RecordParser,
    Request,
)

_LINE_FORMATS = frozenset({"json", "csv", "text"})
_SPLIT_FORMATS = _LINE_FORMATS | {"parquet", "orc"}
# Spark reads these without native libraries; zstd it cannot, so those objects are fetched whole.
_UNREADABLE_SUFFIXES = (".zst", ".zstd")
_WHOLE_OBJECT_OPTIONS = frozenset({"multiline", "wholetext", "encoding", "charset"})
_GLOB_CHARACTERS = str.maketrans({c: f"\\{c}" for c in "\\{}[]*?"})


def is_large(request: Request, file_format: str, options: Mapping[str, str], threshold: int) -> bool:
    """Whether Spark should split this object. One that must be seen whole is never split."""
    if (request.ref.size or 0) < threshold or file_format not in _SPLIT_FORMATS:
        return False
    whole = any(
        name.lower() in _WHOLE_OBJECT_OPTIONS and value.lower() != "false" for name, value in options.items()
    )
    # An older version can only be had by its id, which Spark's file systems do not take.
    return (
        not whole
        and not request.ref.version_id
        and not request.ref.key.lower().endswith(_UNREADABLE_SUFFIXES)
    )


@dataclass(frozen=True, slots=True)
class _Block:
    """A contiguous piece of one object in one task; `first_id` is its first row's running number there."""

    object_index: int
    start: int
    first_id: int
    rows: int


class LargeObjectReader:
    """Same frames as `ObjectReader`, for objects that Spark's own readers split."""

    def __init__(self, spark: SparkSession, config: ReaderConfig, scheme: str) -> None:
        self._spark = spark
        self._config = config
        self._scheme = scheme

    def read(self, requests: Sequence[Request]) -> DataFrame:
        """Scans the objects once to number their rows, then parses lazily."""
        readable: list[Request] = []
        blocks: list[_Block] = []
        failed: dict[int, str] = {}
        try:
            blocks, readable = self._scan(requests), list(requests)
        except (Py4JError, PySparkException):
            # One unreadable object fails the scan of all: find out which.
            for request in requests:
                try:
                    blocks += self._scan([request])
                    readable.append(request)
                except (Py4JError, PySparkException) as error:
                    failed[request.object_index] = _shorten(error)
        outcomes = self._build_outcomes(requests, failed)
        return outcomes.unionByName(self._parse(readable, blocks)) if readable else outcomes

    def _scan(self, requests: Sequence[Request]) -> list[_Block]:
        raw = self._load(requests)
        rows = (
            raw.groupBy("object_index", "block_start")
            .agg(F.min("row_id").alias("first_id"), F.count(F.lit(1)).alias("rows"))
            .collect()
        )
        return [_Block(r["object_index"], r["block_start"], r["first_id"], r["rows"]) for r in rows]

    def _load(self, requests: Sequence[Request]) -> DataFrame:
        """`(object_index, block_start, row_id, value)`; deterministic, so that two passes agree."""
        paths = {self._build_path(request): request.object_index for request in requests}
        reader = self._spark.read
        separator = {name.lower(): value for name, value in self._config.options.items()}.get("linesep")
        if self._config.file_format in _LINE_FORMATS:
            reader = reader.option("lineSep", separator) if separator else reader
            loaded = reader.text([path.translate(_GLOB_CHARACTERS) for path in paths])
            value = F.col("value")
        else:
            loaded = (
                reader.schema(self._config.schema)
                .format(self._config.file_format)
                .load([path.translate(_GLOB_CHARACTERS) for path in paths])
            )
            value = F.struct(*(F.col(f"`{name}`") for name in self._config.schema.fieldNames()))
        # `file_path` is percent-encoded; url_decode alone would also turn a plus into a space.
        decoded = F.url_decode(F.regexp_replace("_metadata.file_path", r"\+", "%2B"))
        numbered = loaded.select(
            decoded.alias("path"),
            F.col("_metadata.file_block_start").alias("block_start"),
            F.monotonically_increasing_id().alias("row_id"),
            value.alias("value"),
        )
        known = self._spark.createDataFrame(list(paths.items()), "path string, object_index int")
        return numbered.join(F.broadcast(known), on="path", how="inner").drop("path")

    def _build_path(self, request: Request) -> str:
        ref = request.ref
        if ref.provider == "local":
            return "file:" + str(Path(ref.bucket) / ref.key)
        return build_uri(ref.provider, ref.bucket, ref.key).replace("s3://", f"{self._scheme}://", 1)

    def _parse(self, requests: Sequence[Request], blocks: Sequence[_Block]) -> DataFrame:
        config = self._config
        offsets = self._spark.createDataFrame(
            _number_blocks(blocks), "object_index int, block_start long, offset long"
        )
        parser = RecordParser(config.file_format, config.schema, config.options)
        numbered = self._load(requests).join(
            F.broadcast(offsets), on=["object_index", "block_start"], how="inner"
        )
        row_number = F.col("row_id") + F.col("offset")
        rows = numbered.withColumn("row_number", row_number)
        if config.file_format in _LINE_FORMATS:
            rows = rows.where(self._is_record(F.col("row_number")))
        parsed = F.col("parsed")
        return rows.withColumn("parsed", parser.build_record(F.col("value"))).select(
            "object_index",
            "row_number",
            parser.select_record(parsed).alias("record"),
            parser.build_corrupt(parsed).alias("corrupt"),
            F.lit(None).cast(OUTCOME_SCHEMA).alias("outcome"),
        )

    def _is_record(self, row_number: Column) -> Column:
        if self._config.file_format == "text":
            return F.lit(True)
        has_header = any(
            name.lower() == "header" and value.lower() == "true"
            for name, value in self._config.options.items()
        )
        not_blank = F.length(F.trim("value")) > 0
        is_header = (row_number == 1) & F.lit(self._config.file_format == "csv" and has_header)
        return not_blank & ~is_header

    def _build_outcomes(self, requests: Sequence[Request], failed: Mapping[int, str]) -> DataFrame:
        rows = []
        for request in requests:
            at, ref = request.object_index, request.ref
            problem = failed.get(at)
            status, reason = ("quarantined", "unparsable") if problem else ("read", None)
            # Blank lines and headers are not records yet: who asks for rows has to count.
            outcome = (status, reason, problem, ref.size, None, ref.etag, ref.version_id, None, None, None)
            rows.append((at, None, None, None, outcome))
        schema = (
            StructType()
            .add("object_index", IntegerType())
            .add("row_number", LongType())
            .add("record", self._config.schema)
            .add("corrupt", StringType())
            .add("outcome", OUTCOME_SCHEMA)
        )
        return self._spark.createDataFrame(rows, schema)


def _number_blocks(blocks: Sequence[_Block]) -> list[tuple[int, int, int]]:
    """For each block, what to add to a row's running number to get its 1-based row in the object."""
    offsets = []
    rows_before: dict[int, int] = {}
    for block in sorted(blocks, key=lambda b: (b.object_index, b.start)):
        before = rows_before.get(block.object_index, 0)
        offsets.append((block.object_index, block.start, before + 1 - block.first_id))
        rows_before[block.object_index] = before + block.rows
    return offsets


def _shorten(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if "Caused by" in line or "Exception" in line]
    return (lines[-1] if lines else str(error))[:300]

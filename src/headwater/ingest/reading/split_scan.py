"""Loads large objects in Spark's splits, and numbers their rows in one pass."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructType

from headwater.config.file_format import COMPRESSION_SUFFIXES, is_archive
from headwater.ingest.evolution.unknown_columns import has_unknown_fields
from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.json import DOCUMENT_BORDERS
from headwater.ingest.formats.json_values import COMMENT, LONE_SURROGATE
from headwater.ingest.formats.markers import KEPT_CHARS, MALFORMED, OVERSIZE, UNDECODABLE
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.formats.text_lines import JAVA_BLANKS
from headwater.ingest.reading.failures import explain_read_failure
from headwater.ingest.reading.object_reader import ReaderConfig
from headwater.ingest.reading.resolution import ReadRequest
from headwater.lake.local_frames import build_frame
from headwater.sources.object_store import ObjectRef

_log = logging.getLogger(__name__)

LINE_FORMATS = frozenset({"json", "csv", "text"})
_SPLIT_FORMATS = LINE_FORMATS | {"parquet", "orc"}
_WHOLE_OBJECT_OPTIONS = frozenset({"multiline", "wholetext", "encoding", "charset"})
_PATHS_SCHEMA = StructType().add("path", StringType()).add("object_index", IntegerType())
_GLOB_CHARACTERS = str.maketrans({c: f"\\{c}" for c in "\\{}[]*?"})

# zstd needs native libraries; Hadoop reads the others in its own framing.
_SPARK_SUFFIXES = frozenset({"gz", "bz2"})
_OTHER_SUFFIXES = frozenset({*COMPRESSION_SUFFIXES, "deflate", "lz4", "snappy"}) - _SPARK_SUFFIXES

_LINE_LIMIT = "mapreduce.input.linerecordreader.line.maxlength"
"""Hadoop's setting: it leaves out longer lines, and never has them in memory."""
_BORDER_BYTES = 5
"""At most: a byte order mark, and no end after the last row."""

_DOCUMENT_END = rf"(?s)\}}\s*,?\s*{COMMENT}$"
# Compressed text, UTF-16, or no text at all: gzip, zstd, UTF-16 (two byte orders), Parquet, Avro, ZIP.
_ODD_BEGINNINGS = (
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\xff\xfe",
    b"\xfe\xff",
    b"PAR1",
    b"Obj\x01",
    b"PK\x03\x04",
)


def is_large(ref: ObjectRef, file_format: str, options: Mapping[str, str], threshold: int) -> bool:
    """True if Spark should split this object. One that must be read whole is never split."""
    if (ref.size or 0) < threshold or file_format not in _SPLIT_FORMATS:
        return False
    # Lines of CSV are scanned for multi-line records: an object without any is split.
    needs_whole = _WHOLE_OBJECT_OPTIONS - ({"multiline"} if file_format == "csv" else set())
    whole = any(name.lower() in needs_whole and value.lower() != "false" for name, value in options.items())
    parts = ref.key.split("/")
    # Hadoop maps `a//b` and `a/./b` to another key.
    is_path = all(parts) and not {".", ".."} & set(parts)
    if whole or not is_path or is_archive(ref.key):
        return False
    return parts[-1].lower().rsplit(".", 1)[-1] not in _OTHER_SUFFIXES


@dataclass(frozen=True, slots=True)
class Block:
    """A contiguous piece of one object in one task.

    `first_id` is its first row's running number there, `first_record` that of its first record (neither blank
    nor a comment). `is_odd`: Spark must not read this object by itself. `has_unknown`: records have names
    that the table lacks, even for a null. `size` are the bytes of the rows, without their ends.
    """

    object_index: int
    start: int
    first_id: int
    rows: int
    first_record: int | None
    is_odd: bool
    has_unknown: bool = False
    size: int = 0


@dataclass(frozen=True, slots=True)
class BlockNumbers:
    """The offset from a running number to a 1-based row, and the row of the object's first record."""

    object_index: int
    start: int
    offset: int
    first_record: int


def number_blocks(blocks: Sequence[Block]) -> list[BlockNumbers]:
    """Number the rows of all blocks of each object one after the other."""
    rows_before: dict[int, int] = {}
    first_records: dict[int, int] = {}
    offsets: list[tuple[Block, int]] = []
    for block in sorted(blocks, key=lambda b: (b.object_index, b.start)):
        before = rows_before.get(block.object_index, 0)
        offset = before + 1 - block.first_id
        offsets.append((block, offset))
        rows_before[block.object_index] = before + block.rows
        if block.first_record is not None:
            first_records.setdefault(block.object_index, block.first_record + offset)
    return [
        BlockNumbers(block.object_index, block.start, offset, first_records.get(block.object_index, 0))
        for block, offset in offsets
    ]


def has_gap(rest: int, rows: int, end: int, limit: int) -> bool:
    """True if the `rest` of an object, its size without the texts of its rows, hides another row.

    Such a row has more than `limit` bytes. Otherwise, `rest` is the ends of the rows, of `end` bytes each or
    twice as many (CRLF), and maybe a byte order mark.
    """
    return rest - rows * end > limit and abs(rest - 2 * rows * end) > _BORDER_BYTES


class SplitScan:
    """Loads objects with deterministic running numbers, so that two passes over the same ones agree."""

    def __init__(self, spark: SparkSession, config: ReaderConfig) -> None:
        self._spark = spark
        self._config = config
        options = ReaderOptions(config.options)
        self._line_end = options.separator("lineSep", default="")
        self._dialect = CsvDialect.from_options(options) if config.file_format == "csv" else CsvDialect()
        self._joins_lines = options.flag("multiLine", default=True)

    def load(self, requests: Sequence[ReadRequest]) -> DataFrame:
        """Return `(object_index, block_start, row_id, value)`; `value` is a line's text or a struct."""
        paths = {self._build_path(request): request.object_index for request in requests}
        patterns = [path.translate(_GLOB_CHARACTERS) for path in paths]
        reader = self._spark.read
        value = F.col("value")
        if self._config.file_format in LINE_FORMATS:
            reader = reader.option("lineSep", self._line_end) if self._line_end else reader
            if self._leaves_out_long_lines(requests):
                # Hadoop counts the end of a line.
                longest = self._config.max_record_bytes + max(len(self._line_end.encode()), 2)
                reader = reader.option(_LINE_LIMIT, str(longest + 1))
            loaded = reader.text(patterns)
        else:
            schema = self._config.schema
            loaded = reader.schema(schema).format(self._config.file_format).load(patterns)
            value = F.struct(*(F.col(f"`{name}`") for name in schema.fieldNames()))
        # `file_path` is percent-encoded; url_decode alone would also convert a plus to a space.
        decoded = F.url_decode(F.regexp_replace("_metadata.file_path", r"\+", "%2B"))
        numbered = loaded.select(
            decoded.alias("path"),
            F.col("_metadata.file_block_start").alias("block_start"),
            F.monotonically_increasing_id().alias("row_id"),
            value.alias("value"),
        )
        known = build_frame(self._spark, list(paths.items()), _PATHS_SCHEMA)
        return numbered.join(F.broadcast(known), on="path", how="inner").drop("path")

    def scan(self, requests: Sequence[ReadRequest]) -> tuple[list[Block], list[ReadRequest]]:
        """Return the blocks of the objects that Spark can read, and these objects.

        Load them all or none of them: the splits of an object depend on which others are loaded.
        """
        try:
            return self._scan(requests), list(requests)
        except (Py4JError, PySparkException):
            # One unreadable object fails the scan of all: find it.
            readable = [request for request in requests if self._can_scan(request)]
        return (self._scan(readable) if readable else []), readable

    def _can_scan(self, request: ReadRequest) -> bool:
        try:
            self._scan([request])
        except (Py4JError, PySparkException) as error:
            reason = explain_read_failure(self._config.file_format, str(error)).message
            _log.warning(
                "large object %r is read whole; Spark cannot read it in splits: %s", request.ref.key, reason
            )
            return False
        return True

    def _leaves_out_long_lines(self, requests: Sequence[ReadRequest]) -> bool:
        # Only without compression do the sizes of the lines show whether one is missing.
        return not any(request.ref.key.lower().endswith(tuple(_SPARK_SUFFIXES)) for request in requests)

    def find_incomplete(self, requests: Sequence[ReadRequest], blocks: Sequence[Block]) -> set[int]:
        """Return the objects (indexes) of which Spark has left out a line longer than a record may be."""
        if self._config.file_format not in LINE_FORMATS or not self._leaves_out_long_lines(requests):
            return set()
        rows, sizes = Counter[int](), Counter[int]()
        for block in blocks:
            rows[block.object_index] += block.rows
            sizes[block.object_index] += block.size
        limit, end = self._config.max_record_bytes, len(self._line_end.encode()) or 1
        return {
            at
            for at, size in ((request.object_index, request.ref.size or 0) for request in requests)
            if has_gap(size - sizes[at], rows[at], end, limit)
        }

    def _scan(self, requests: Sequence[ReadRequest]) -> list[Block]:
        record_id = F.when(self.is_record(F.col("value")), F.col("row_id"))
        rows = (
            self.load(requests)
            .groupBy("object_index", "block_start")
            .agg(
                F.min("row_id").alias("first_id"),
                F.count(F.lit(1)).alias("rows"),
                F.min(record_id).alias("first_record"),
                F.max(self._is_odd()).alias("is_odd"),
                F.max(self._has_unknown()).alias("has_unknown"),
                self._measure().alias("size"),
                *self._count_values(),
            )
            .collect()
        )
        return [_to_block(row) for row in rows]

    def _measure(self) -> Column:
        is_text = self._config.file_format in LINE_FORMATS
        return F.sum(F.octet_length("value")) if is_text else F.lit(0)

    def _count_values(self) -> list[Column]:
        """Force Spark to decode every column now: corrupt pages must not fail the batch later."""
        if self._config.file_format in LINE_FORMATS:
            return []
        return [F.count(F.col("value").getField(name)) for name in self._config.schema.fieldNames()]

    def _has_unknown(self) -> Column:
        config = self._config
        if config.file_format != "json" or not (config.reports or config.rescues):
            return F.lit(False)
        return F.coalesce(has_unknown_fields(F.col("value"), config.schema, config.ignored), F.lit(False))

    def read_unknown(self, requests: Sequence[ReadRequest], records: int) -> dict[int, list[str]]:
        """Return texts of some records with names that the table lacks, by object index."""
        config = self._config
        found = has_unknown_fields(F.col("value"), config.schema, config.ignored, with_values=True)
        # At random, so that rare names are likely to be included.
        rows = self.load(requests).where(found).orderBy(F.rand(0)).limit(records)
        texts: dict[int, list[str]] = {}
        for row in rows.select("object_index", replace_undecodable(F.col("value")).alias("text")).collect():
            texts.setdefault(row["object_index"], []).append(row["text"])
        return texts

    def is_record(self, value: Column) -> Column:
        """True for a record, or the header before the records."""
        if self._config.file_format not in ("json", "csv"):
            return F.lit(True)
        not_blank, comment = F.btrim(value, F.lit(JAVA_BLANKS)) != "", self._dialect.comment
        return not_blank & ~value.startswith(comment) if comment else not_blank

    def build_marked(self, value: Column) -> Column:
        """Return the text of a record, marked if it cannot become a row: as in a whole read."""
        data, text = value.cast("binary"), replace_undecodable(value)
        is_decodable = F.encode(text, "UTF-8") == data
        marked = F.when(is_decodable, value).otherwise(F.concat(F.lit(UNDECODABLE), text))
        if self._config.file_format == "csv" and self._dialect.quote:
            is_malformed = is_decodable & self._has_quotes(value) & ~self._is_complete(value)
            marked = F.when(is_malformed, F.concat(F.lit(MALFORMED), value)).otherwise(marked)
        if self._config.file_format == "json":
            is_malformed = is_decodable & ~value.endswith("}") & ~value.rlike(_DOCUMENT_END)
            marked = F.when(is_malformed, F.concat(F.lit(MALFORMED), value)).otherwise(marked)
        is_oversize = F.octet_length(value) > self._config.max_record_bytes
        shortened = F.concat(F.lit(OVERSIZE), F.left(text, F.lit(KEPT_CHARS)))
        return F.when(is_oversize, shortened).otherwise(marked)

    def _has_quotes(self, value: Column) -> Column:
        return value.contains(self._dialect.quote)

    def _is_complete(self, value: Column) -> Column:
        """True for values with `CsvDialect.is_complete`."""
        dialect = self._dialect
        if dialect.is_strict:
            return value.rlike(f"(?s)^(?:{dialect.build_pattern()})$")
        return ~value.rlike(dialect.build_pattern(is_open=True))

    def _is_odd(self) -> Column:
        if self._config.file_format not in LINE_FORMATS:
            return F.lit(False)
        data = F.col("value").cast("binary")
        odd = F.lit(False)
        for beginning in _ODD_BEGINNINGS:
            odd = odd | F.startswith(data, F.lit(beginning))
        odd = odd & (F.col("block_start") == 0)
        if self._config.file_format == "csv" and self._dialect.quote and self._joins_lines:
            # Its record continues in the next line, which may be in another split.
            value = F.col("value")
            odd = odd | (self._has_quotes(value) & value.rlike(self._dialect.build_pattern(is_open=True)))
        if self._config.file_format == "json":
            # A line that may contain many records: they are numbered when the object is read whole.
            odd = odd | F.ltrim(F.col("value")).startswith("[") | F.col("value").startswith("\t")
            for border in DOCUMENT_BORDERS:
                odd = odd | F.col("value").contains(border)
            odd = odd | (F.col("value").contains("\\u") & F.col("value").rlike(LONE_SURROGATE))
            names = F.json_object_keys(F.col("value"))
            odd = odd | F.coalesce(F.size(names) > F.size(F.array_distinct(names)), F.lit(False))
        return odd

    def read_head(self, request: ReadRequest, records: int) -> list[str]:
        """Return the texts of the first records of an object's first split, including the header."""
        is_first = (F.col("block_start") == 0) & self.is_record(F.col("value"))
        head = self.load([request]).where(is_first).select(replace_undecodable(F.col("value"))).limit(records)
        return [str(row[0]) for row in head.collect()]

    def read_schema(self, requests: Sequence[ReadRequest]) -> StructType:
        """Return all columns that objects in a columns format declare."""
        patterns = [self._build_path(request).translate(_GLOB_CHARACTERS) for request in requests]
        reader = self._spark.read.format(self._config.file_format).option("mergeSchema", "true")
        return reader.load(patterns).schema

    def _build_path(self, request: ReadRequest) -> str:
        ref = request.ref
        store = self._config.store
        bucket = store.locate(ref.bucket)
        if ref.provider == "local":
            return "file:" + str(Path(bucket) / ref.key)
        chosen = store.choose(ref.bucket)
        return f"{chosen.scheme}://{bucket}{chosen.spark_host}/{ref.key}"


def replace_undecodable(text: Column) -> Column:
    """Replace bytes that are not UTF-8, which Spark passes on: readers of the table would fail on them."""
    return F.decode(text.cast("binary"), "UTF-8")


def _to_block(row: Row) -> Block:
    return Block(
        object_index=row["object_index"],
        start=row["block_start"],
        first_id=row["first_id"],
        rows=row["rows"],
        first_record=row["first_record"],
        is_odd=row["is_odd"],
        has_unknown=row["has_unknown"],
        size=row["size"],
    )

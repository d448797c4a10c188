"""The columns of a data table: declared, or inferred once from a sample and then stored with the table."""

import json
import re
from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.config.hudi.column_types import ColumnType
from headwater.errors import ConfigError, IngestError
from headwater.ingest.columns.column_names import rename_for_hudi
from headwater.ingest.columns.text_types import fold_names, keep_texts
from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.lineage import LINEAGE_COLUMNS
from headwater.lake.jvm import parse_texts
from headwater.lake.local_frames import build_frame
from headwater.lake.logical_types.columns import build_read_type
from headwater.lake.logical_types.storable import find_storable

CORRUPT = "_corrupt_record"

TEXT_SCHEMA = StructType([StructField("value", StringType())])
BINARY_SCHEMA = StructType(
    [
        StructField("path", StringType()),
        StructField("modificationTime", TimestampType()),
        StructField("length", LongType()),
        StructField("content", BinaryType()),
    ]
)
DOCUMENT_SCHEMA = StructType(
    [
        StructField("document", StringType()),
        StructField("kind", StringType()),
        StructField("section", LongType()),
        StructField("title", StringType()),
        StructField("level", IntegerType()),
        StructField("page", IntegerType()),
        StructField("byte_start", LongType()),
        StructField("byte_end", LongType()),
        StructField("text", StringType()),
    ]
)
FIXED_SCHEMAS = {"text": TEXT_SCHEMA, "binary": BINARY_SCHEMA, "document": DOCUMENT_SCHEMA}

# `mode` would let Spark drop or fail on bad records, which belong in quarantine.
NOT_FOR_PARSER = frozenset(
    {
        "mode",
        "columnnameofcorruptrecord",
        "multiline",
        "header",
        "inferschema",
        "encoding",
        "charset",
        "linesep",
        "compression",
        "rowtag",
        "wholetext",
        "mergeschema",
        "pathglobfilter",
        "recursivefilelookup",
        "recordschema",
        "registry",
        "framing",
        "confluent",
    }
)


# Hudi compares the bytes of binary values as signed numbers, and fails on nested ones.
_UNORDERED = (BinaryType, ArrayType, MapType, StructType)


def parse_ddl(table: str, key: str, ddl: str) -> StructType:
    """Parse the columns of a DDL text, all nullable: no file guarantees that values are present.

    Needs a running JVM. Raises `ConfigError` with table and key.
    """
    try:
        parsed = StructType.fromDDL(ddl) if hasattr(StructType, "fromDDL") else _parse_with_spark(ddl)
    except PySparkException as error:
        reason = re.sub(r"\s+", " ", str(error)).strip()[:300]
        raise ConfigError(
            f"tables.{table}.{key}: {ddl!r} is not a list of columns: {reason}",
            hint="write it as in SQL: `id bigint, name string, price decimal(10,2)`",
        ) from error
    return _nullable(parsed)


def _parse_with_spark(ddl: str) -> StructType:
    from pyspark.sql.types import _parse_datatype_string

    parsed = _parse_datatype_string(ddl)
    return parsed if isinstance(parsed, StructType) else StructType([StructField("value", parsed)])


def apply_hints(schema: StructType, hints: StructType) -> StructType:
    """Replace the types of hinted columns; append hinted columns that are absent."""
    wanted = {field.name: field for field in hints}
    fields = [wanted.pop(field.name, field) for field in schema]
    return StructType([*fields, *wanted.values()])


def apply_column_types(
    schema: StructType, types: Mapping[str, ColumnType], given: Sequence[str]
) -> StructType:
    """Assign columns of Hudi's own types, by their names in the table, the types used for reading.

    Columns in `given` keep theirs.
    """
    stored = rename_for_hudi(schema).fieldNames()
    known = {name.lower(): column for column, name in zip(schema.fieldNames(), stored, strict=True)}
    read = {known.get(name.lower(), name): build_read_type(kind) for name, kind in types.items()}
    kept = {column.lower() for column in given}
    return apply_hints(
        schema, StructType([StructField(n, kind) for n, kind in read.items() if n.lower() not in kept])
    )


def infer_from_lines(
    spark: SparkSession,
    file_format: str,
    columns: Sequence[str] | None,
    lines: Sequence[str],
    options: Mapping[str, str],
) -> StructType | None:
    """Infer columns with Spark from sample lines; None if no line can be parsed."""
    reader = spark.read.options(**parser_options(file_format, options))
    texts = _build_texts(spark, lines)
    if file_format == "csv":
        frame = parse_texts(reader.option("inferSchema", "true"), "csv", texts)
        if columns is None:
            return _nullable(frame.schema) if frame.columns else None
        dialect = CsvDialect.from_options(ReaderOptions(options))
        types = keep_texts([field.dataType for field in frame.schema], map(dialect.read, lines))
        types += [StringType()] * (len(columns) - len(types))
        return StructType([StructField(name, kind) for name, kind in zip(columns, types, strict=False)])
    frame = parse_texts(reader, "json", texts)
    schema = StructType([field for field in frame.schema if field.name != CORRUPT])
    return fold_names(_nullable(schema)) if schema.fields else None


def _build_texts(spark: SparkSession, lines: Sequence[str]) -> DataFrame:
    # Half of a surrogate pair is no text to Arrow.
    texts = [(line.encode("utf-8", "replace").decode(),) for line in lines]
    return build_frame(spark, texts, StructType([StructField("value", StringType())])).coalesce(1)


def from_arrow(schema: pa.Schema) -> StructType:
    """Convert the columns of a Parquet, ORC or Avro file to Spark's."""
    try:
        return _nullable(from_arrow_schema(schema, prefer_timestamp_ntz=False))
    except Exception as error:  # PySpark raises several errors for unknown types
        raise IngestError(
            f"the file has a column of a type that Spark does not support: {error}",
            hint="declare `schema:` without that column",
        ) from error


def as_instants(schema: StructType) -> StructType:
    """Return nullable columns; times without a zone are instants in UTC, as in `from_arrow`."""
    text = schema.json().replace('"timestamp_ntz"', '"timestamp"')
    return _nullable(StructType.fromJson(json.loads(text)))


def parser_options(file_format: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the user's reader options for parsing one record, with headwater's defaults."""
    given = {name: value for name, value in options.items() if name.lower() not in NOT_FOR_PARSER}
    if file_format == "csv":
        # Option names are case-insensitive, so a default must not occur twice.
        given = {name: value for name, value in given.items() if name.lower() != "escape"}
        given["escape"] = CsvDialect.from_options(ReaderOptions(options)).escape or "\0"
    return given


def check_names(
    table: str, schema: StructType, keys: Mapping[str, Sequence[str]], extra: Sequence[str]
) -> None:
    """Raise `ConfigError` unless every key, ordering and partition field is a column."""
    present = {*schema.fieldNames(), *extra, *LINEAGE_COLUMNS}
    problems = [
        f"tables.{table}.{key}: no column {name!r}; the columns are {', '.join(schema.fieldNames())}"
        for key, names in keys.items()
        for name in names
        if name not in present
    ]
    if problems:
        raise ConfigError("\n".join(problems), hint="correct the name, or declare `schema:`")


def check_ordering(table: str, schema: StructType, ordering: Collection[str], key: str = "ordering") -> None:
    """Raise `ConfigError` for ordering by nested or binary values."""
    for field in schema:
        name, kind = field.name, field.dataType
        if name in ordering and isinstance(kind, _UNORDERED):
            raise ConfigError(
                f"tables.{table}.{key}: column {name!r} has type {kind.simpleString()}, which has no order",
                hint="order by a number, a time, a date or a string"
                + (
                    f"; to order by bytes, add `hex({name}) as {name}_hex` to `transform` and set "
                    f"`ordering: {name}_hex`"
                    if key == "ordering"
                    else ""
                ),
            )


def check_partition(table: str, schema: StructType, partition: Collection[str]) -> None:
    """Reject timestamps as partitions of a new table: Spark reads Hudi's folder names for them as null.

    Raises `ConfigError`.
    """
    for field in schema:
        if field.name in partition and isinstance(field.dataType, TimestampType):
            raise ConfigError(
                f"tables.{table}.partition: column {field.name!r} is a timestamp, which Spark reads as null",
                hint=f'to partition by the text, add `schema_hints: "{field.name} string"`; to partition by '
                "day, derive a day column in `transform`: docs/how-to/write-to-a-table.md#partitions-by-time",
            )


def _nullable(schema: StructType) -> StructType:
    """Return the columns with types that Hudi can store, all nullable."""
    return StructType([StructField(f.name, find_storable(f.dataType), True) for f in schema])

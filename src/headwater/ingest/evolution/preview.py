"""Previews the effect of given objects on a table's columns; writes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headwater.config.file_format import RECORD_ENCODINGS
from headwater.config.table import TableConfig
from headwater.errors import HeadwaterError, ObjectUnreadableError
from headwater.ingest.columns.declared import read_declared
from headwater.ingest.columns.schema import FIXED_SCHEMAS, from_arrow, infer_from_lines
from headwater.ingest.evolution.schema_evolution import SchemaEvolution
from headwater.ingest.evolution.schema_merge import ColumnEvolution, merge_schemas
from headwater.ingest.formats import infer_arrow_schema, is_lines_format, sample_lines
from headwater.ingest.formats.csv import name_columns
from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.csv_header import detect_header, has_header
from headwater.ingest.formats.envelopes import ENVELOPE_FIELDS
from headwater.ingest.formats.markers import BAD_RECORD, MARKER
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.lineage import build_uri
from headwater.sources.object_store import ObjectRef, ObjectStoreConfig
from headwater.sources.registry import build_object_store

Effect = Literal["added", "widened", "rescued", "refused", "ignored", "stops"]
"""`refused`: records with such a value go to quarantine. `stops`: the table stops with an error."""

MAX_PREVIEW_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ColumnEffect:
    """The effect of an object on one column. `before` is the table's type, `after` the new type, or the
    object's if the table keeps its own.
    """

    effect: Effect
    column: str
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class ObjectPreview:
    """One object. `missing` are the table's columns that it lacks: null in its rows.

    `error` is the reason why it could not be previewed.
    """

    object: str
    columns: tuple[ColumnEffect, ...] = ()
    missing: tuple[str, ...] = ()
    error: str = ""


class SchemaPreview:
    """Compares objects with the columns of one table; text formats by their first 1,000 records.

    `options` are those of its reader.
    """

    def __init__(
        self, spark: SparkSession, name: str, table: TableConfig, options: Mapping[str, str]
    ) -> None:
        self._spark = spark
        self._name = name
        self._table = table
        self._options = options
        self._format = table.effective_format
        self._evolution = SchemaEvolution(spark, name, table)

    def preview(
        self, objects: Sequence[tuple[ObjectStoreConfig, ObjectRef]], stored: StructType | None
    ) -> list[ObjectPreview]:
        """Compare each object with the columns that the previous ones would produce.

        `stored` are the table's own; None before its first commit.
        """
        present = self._declared() or stored or StructType()
        previews = []
        for store, ref in objects:
            uri = build_uri(ref.provider, ref.bucket, ref.key)
            try:
                found = self._read_columns(store, ref, present.fieldNames())
                found = StructType([field for field in found if field.name not in ENVELOPE_FIELDS])
            except HeadwaterError as error:
                previews.append(ObjectPreview(uri, error=error.message))
                continue
            merge = merge_schemas(present, found, self._evolution.build_rules(present))
            effects = tuple(self._judge(change) for change in merge.changes)
            names = {name.lower() for name in found.fieldNames()}
            missing = tuple(name for name in present.fieldNames() if name.lower() not in names)
            previews.append(ObjectPreview(uri, effects, missing))
            present = merge.schema if self._evolution.widens else present
        return previews

    def _declared(self) -> StructType | None:
        if self._table.schema_:
            declared = read_declared(self._name, self._table.schema_, self._options)
            self._options = {**self._options, **declared.options}
            return declared.schema
        return FIXED_SCHEMAS.get(self._format)

    def _read_columns(self, store: ObjectStoreConfig, ref: ObjectRef, present: Sequence[str]) -> StructType:
        options = self._options
        data = build_object_store(store).read(ref, MAX_PREVIEW_BYTES).data
        if self._format in FIXED_SCHEMAS:
            return FIXED_SCHEMAS[self._format]
        if not is_lines_format(self._format):
            return from_arrow(infer_arrow_schema(data, ref.key, self._format, options))
        names, lines = sample_lines(data, ref.key, self._format, options)
        if self._format in RECORD_ENCODINGS:
            return self._check_decoded(build_uri(ref.provider, ref.bucket, ref.key), lines)
        if self._format == "csv" and lines and not ReaderOptions(options).text("header"):
            given = ReaderOptions(options)
            dialect = CsvDialect.from_options(given)
            if has_header(dialect, given, lines[0], present) or detect_header(dialect, lines):
                names, lines = name_columns(dialect, lines[0]), lines[1:]
        return infer_from_lines(self._spark, self._format, names, lines, options) or StructType()

    def _check_decoded(self, uri: str, texts: Sequence[str]) -> StructType:
        """Return the schema's columns. Raises ObjectUnreadableError if a record has another schema."""
        bad = [(number, text) for number, text in enumerate(texts, 1) if text.startswith(MARKER)]
        if bad:
            number, text = bad[0]
            raise ObjectUnreadableError(
                f"{len(bad)} of the first {len(texts)} records of {uri} do not have the table's schema; "
                f"record {number}: {text[len(BAD_RECORD) :]}"
            )
        return self._declared() or StructType()

    def _judge(self, change: ColumnEvolution) -> ColumnEffect:
        evolution = self._evolution
        effect: Effect = change.kind
        if change.kind == "refused" or not evolution.widens:
            effect = "rescued" if evolution.rescued_column else "refused"
        if change.kind == "added" and evolution.mode == "fail_on_new_columns":
            effect = "stops"
        elif change.kind == "added" and evolution.mode == "none" and not evolution.rescued_column:
            effect = "ignored"
        return ColumnEffect(effect, change.column, change.before, change.after)

"""The source of a table's records: its format, its columns, and the objects that Spark splits."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType, StringType, StructField, StructType

from headwater.capture.stored_event import StoredEvent
from headwater.config.table import TableConfig
from headwater.config.table.column_types import list_column_types
from headwater.config.table.typed_options import list_needed_columns, list_ordering
from headwater.errors import IngestError
from headwater.ingest.changes.rules import ENVELOPE_SCHEMA, ChangeRules
from headwater.ingest.columns.column_names import assign_names, is_reserved, list_renamed, rename_for_hudi
from headwater.ingest.columns.conforming import find_rounded
from headwater.ingest.columns.declared import Declared, DeclaredColumns
from headwater.ingest.columns.row_address import RowAddress
from headwater.ingest.columns.schema import (
    CORRUPT,
    FIXED_SCHEMAS,
    apply_column_types,
    apply_hints,
    check_names,
    check_ordering,
    check_partition,
    parse_ddl,
)
from headwater.ingest.committed_state import CommittedState
from headwater.ingest.evolution.schema_evolution import BadRecord, ObjectSample, SchemaEvolution
from headwater.ingest.evolution.schema_sample import parse_schema_sample
from headwater.ingest.formats.csv_header import is_unnamed, with_header
from headwater.ingest.formats.envelopes import ENVELOPE_FIELDS
from headwater.ingest.formats.log_options import build_log_options
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.formats.record_reasons import UNPARSABLE
from headwater.ingest.inference.column_inference import ColumnInference
from headwater.ingest.lineage import build_uri
from headwater.ingest.misfits.csv_misfit import CsvRules
from headwater.ingest.misfits.finder import MisfitFinder
from headwater.ingest.parsing.record_parser import COLUMN_FORMATS
from headwater.ingest.planning.window import build_window
from headwater.ingest.reading.bad_records import build_bad_record
from headwater.ingest.reading.batch_read import BatchRead
from headwater.ingest.reading.large_objects import LargeObjectReader, keep_present
from headwater.ingest.reading.object_reader import (
    MAX_BAD_CHARS,
    ObjectReader,
    ReaderConfig,
    Records,
)
from headwater.ingest.reading.resolution import ReadRequest
from headwater.ingest.reading.split_scan import is_large
from headwater.lake.logical_types.columns import check_convertible, convert, find_declared
from headwater.lake.table import Table
from headwater.observability.tracing.traces import span
from headwater.sources.object_store import ObjectStoreConfig

MAX_OBJECT_BYTES = 512 * 1024 * 1024
"""Limit for one object read whole, after decompression; larger ones are quarantined as `oversize`."""

_log = logging.getLogger(__name__)

_NOTHING_KNOWN = StructType([StructField(CORRUPT + "_only", StringType())])

_SAMPLE_LINES = 1_000


class RecordSource:
    """Reads objects of one table as records with one schema."""

    def __init__(self, spark: SparkSession, name: str, table: TableConfig, store: ObjectStoreConfig) -> None:
        self._spark = spark
        self._name = name
        self._table = table
        self._store = store
        self._format = table.effective_format
        self._changes = ChangeRules.of(name, table)
        self._ordering_key = "changes.sequence" if self._changes else "ordering"
        self._unwraps = self._changes is not None and self._changes.envelope is not None
        further = self._changes.reader_options if self._changes else {}
        self._options = {**table.options, **further, **build_log_options(table).to_option()}
        self._declared = DeclaredColumns(name, table.schema_, self._options) if table.schema_ else None
        self._applied: Declared | None = None
        self._schema: StructType | None = None
        self._is_provisional = self._is_first = False
        self._split: list[ReadRequest] = []
        self._reordered: frozenset[int] = frozenset()
        self._prepared: _Prepared | None = None
        self._evolution = SchemaEvolution(spark, name, table)
        self._stored_rescued: str | None = None
        self._warned: set[str] = set()
        # With transforms they are columns of the transforms' result.
        self._types = {} if table.transform else list_column_types(table)

    @property
    def schema(self) -> StructType:
        """The data columns. Raises `IngestError` before `ensure_schema`."""
        if self._schema is None:
            raise IngestError(f"table {self._name}: the columns are not known yet")
        return self._schema

    @property
    def table_schema(self) -> StructType:
        """The same columns with their names in the table."""
        return rename_for_hudi(self.schema)

    @property
    def is_provisional(self) -> bool:
        """True if no object has had any columns yet, so that nothing may be written."""
        return self._is_provisional

    @property
    def rescued_column(self) -> str | None:
        """The table's column for rescued values; a table keeps it once created."""
        return self._evolution.rescued_column or self._stored_rescued

    @property
    def brought_by(self) -> Mapping[str, str]:
        """Addresses of the objects that changed columns, by column path."""
        return self._evolution.brought_by

    def ensure_schema(self, events: Sequence[StoredEvent], state: CommittedState) -> None:
        """Determine the columns: declared, else stored with the table, else inferred from these objects.

        Raises `ConfigError` if a key field is not among them.
        """
        self._split, self._reordered = [], frozenset()
        self._stored_rescued, stored = state.rescued_column, state.schema
        self._is_first = stored is None and not self._table.schema_
        declared = self._declared.read() if self._declared else None
        if self._schema is not None and not self._is_provisional and declared is self._applied:
            return
        table = self._table
        if declared is not None:
            schema, self._options = declared.schema, {**self._options, **declared.options}
            self._applied = declared
        elif self._format in FIXED_SCHEMAS:
            schema = FIXED_SCHEMAS[self._format]
        else:
            schema = self._infer(events) if stored is None else self._take_stored(stored)
        given = schema.fieldNames() if table.schema_ else []
        if table.effective_schema_hints:
            hints = parse_ddl(self._name, "schema_hints", table.effective_schema_hints)
            schema, given = apply_hints(schema, hints), [*given, *hints.fieldNames()]
        if schema is _NOTHING_KNOWN:
            # No object of this batch can be parsed; reading them gives the reason. The next batch infers
            # again.
            self._schema, self._is_provisional = schema, True
            return
        schema = assign_names(schema, stored)
        if self._types:
            schema = schema if table.schema_ else apply_column_types(schema, self._types, given)
            schema = assign_names(schema, stored)
            check_convertible(self._name, rename_for_hudi(schema), self._types)
        if not table.transform:
            # Otherwise they are columns of the transforms' result, and checked there.
            keys, further = list_needed_columns(table), table.partition_columns
            check_names(self._name, rename_for_hudi(schema), keys, further)
            check_ordering(self._name, rename_for_hudi(schema), list_ordering(table), self._ordering_key)
            if stored is None:
                check_partition(self._name, rename_for_hudi(schema), table.partition)
        self._schema, self._is_provisional = schema, False
        self._warn_of_reserved(schema)

    def _infer(self, events: Sequence[StoredEvent]) -> StructType:
        config = self._build_config(_NOTHING_KNOWN)
        ordering = self._list_ordering()
        inference = ColumnInference(self._spark, self._name, config, ordering, self._ordering_key)
        with span("infer columns"):
            schema = inference.infer(events, self._is_large)
        if schema is None:
            return _NOTHING_KNOWN
        self._options = inference.options
        return StructType([field for field in schema if field.name not in ENVELOPE_FIELDS])

    def _list_ordering(self) -> set[str]:
        """Return columns that order rows and whose types are not configured."""
        hinted = self._list_hinted()
        ordering = () if self._table.transform and not self._changes else list_ordering(self._table)
        return {name for name in ordering if name.lower() not in hinted}

    def _list_hinted(self) -> set[str]:
        hints = self._table.effective_schema_hints
        names = parse_ddl(self._name, "schema_hints", hints).fieldNames() if hints else []
        return {name.lower() for name in names}

    def _take_stored(self, schema: StructType) -> StructType:
        """Use the table's own columns, which also determine whether its CSV objects have headers."""
        if self._format == "csv" and not ReaderOptions(self._options).text("header"):
            hinted = self._list_hinted()
            names = [name for name in schema.fieldNames() if is_unnamed([name]) or name.lower() not in hinted]
            self._options = with_header(self._options, header=not is_unnamed(names))
        return schema

    def evolve(self, read: BatchRead, table: Table | None = None) -> bool:
        """Add the columns of the objects just read; return True if they must be read again.

        Raises `NewColumnsError` if the table's mode rejects new columns. A column of whole numbers does not
        become doubles if that would round values of `table`.
        """
        evolution = self._evolution
        if not evolution.reports or self._is_provisional:
            return False
        samples = [
            ObjectSample(_build_address(stored), parse_schema_sample(text)) for stored, text in read.samples
        ]
        bad = self._collect_bad(read) if evolution.widens else []
        if not samples and not bad:
            return False
        merged = evolution.merge(self.schema, samples, bad, is_first=self._is_first)
        rounded = find_rounded(table, self.schema, merged) if table and not self._table.transform else ()
        if rounded:
            evolution.keep_types(frozenset(rounded))
            merged = evolution.merge(self.schema, samples, bad, is_first=self._is_first)
        schema = assign_names(merged, self.schema)
        if schema == self._schema:
            return False
        self._schema = schema
        self._split, self._reordered = [], frozenset()
        self._warn_of_reserved(schema)
        return True

    def _warn_of_reserved(self, schema: StructType) -> None:
        """Warn once of fields with names of Hudi's or headwater's own columns."""
        for field, column in list_renamed(schema):
            if is_reserved(field) and field not in self._warned:
                self._warned.add(field)
                _log.warning(
                    "table %s: field %s has a reserved name; its column is named %s",
                    self._name,
                    field,
                    column,
                )

    def _collect_bad(self, read: BatchRead) -> list[BadRecord]:
        """Return texts of some records that do not fit; none for a format with its own types."""
        is_typed = self._format in COLUMN_FORMATS
        has_bad = any(o.bad_rows or o.reason == UNPARSABLE for _, o in read.outcomes)
        has_misfits = self._evolution.rescued_column is not None
        if is_typed or read.records is None or not (has_bad or has_misfits):
            return []
        found = self._list_bad(read.records, read.bad, has_misfits=has_misfits)
        uris = {at: _build_address(outcome.stored) for at, outcome in read.outcomes}
        return [BadRecord(uris[at], text) for at, text in found if at in uris and at not in self._reordered]

    def _list_bad(
        self, records: DataFrame, bad: Sequence[Row] | None, *, has_misfits: bool
    ) -> list[tuple[int, str]]:
        """Return some `object_index` and text."""
        if bad is not None and not has_misfits:
            found = ((row["object_index"], row["corrupt"]) for row in bad)
            return [(at, c["text"]) for at, c in found if c["reason"] == UNPARSABLE and c["text"] is not None]
        text = F.when(F.col("corrupt.reason") == UNPARSABLE, F.col("corrupt.text"))
        if has_misfits:
            text = F.coalesce(text, F.col("misfit"))
        texts = records.select("object_index", text.alias("text")).where(F.length("text") <= MAX_BAD_CHARS)
        # At random: besides unfixable records, the sample should include fixable ones.
        sample = texts.orderBy(F.rand(0)).limit(_SAMPLE_LINES).collect()
        return [(row["object_index"], row["text"]) for row in sample]

    def read(self, requests: Sequence[ReadRequest]) -> Records:
        """Return the objects' lazy records: see `ObjectReader`. `corrupt` has reason and text."""
        prepared = self._prepare()
        large, small = self._divide(requests)
        frames = []
        if large:
            found = LargeObjectReader(self._spark, prepared.config).read(large)
            self._split += found.split
            self._reordered |= found.reordered
            small += found.whole
            frames += [Records(found.frame)] if found.frame is not None else []
        if small:
            frames.append(prepared.reader.read(small))
        frame = reduce(DataFrame.unionByName, (records.frame for records in frames))
        frame = frame.withColumn("record", prepared.record).withColumn("corrupt", prepared.corrupt)
        misfits = replace(prepared.misfits, unordered=self._reordered)
        return Records(frame, is_at_hand=all(records.is_at_hand for records in frames), misfits=misfits)

    def _prepare(self) -> "_Prepared":
        if self._prepared is None or self._prepared.schema is not self.schema:
            config, schema = self._build_config(self.schema), self._with_envelope(self.table_schema)
            is_later = self._table.transform or self._changes
            address = RowAddress() if is_later else RowAddress.of(self._table)
            record = self._convert(F.col("record").cast(schema))
            if self.rescued_column:
                rescued = F.col("rescued") if config.rescues else F.lit(None).cast(StringType())
                record = record.withField(self.rescued_column, rescued)
            self._prepared = _Prepared(
                schema=self.schema,
                config=config,
                reader=ObjectReader(self._spark, config),
                record=record,
                corrupt=build_bad_record(schema, address, self._types),
                misfits=self._build_finder(config),
            )
        return self._prepared

    def _build_finder(self, config: ReaderConfig) -> MisfitFinder:
        if config.file_format in COLUMN_FORMATS:
            return MisfitFinder()
        if config.file_format == "csv":
            rules = CsvRules.from_options(ReaderOptions(config.options))
            return MisfitFinder(config.schema.jsonValue(), rules)
        return MisfitFinder(config.schema.jsonValue(), quoted=config.numbers)

    def _convert(self, record: Column) -> Column:
        for field in self.table_schema:
            if (kind := find_declared(self._types, field.name)) is not None:
                value = convert(record.getField(field.name), field.dataType, kind)
                record = record.withField(field.name, value)
        return record

    def _divide(self, requests: Sequence[ReadRequest]) -> tuple[list[ReadRequest], list[ReadRequest]]:
        large: list[ReadRequest] = []
        small: list[ReadRequest] = []
        for request in requests:
            (large if self._is_large(request) else small).append(request)
        return large, small

    def _is_large(self, request: ReadRequest) -> bool:
        threshold = int(self._table.large_file_bytes)
        if self._unwraps:
            return False
        store = self._store.choose(request.ref.bucket)
        return store.spark_reads and is_large(request.ref, self._format, self._options, threshold)

    def ensure_unchanged(self) -> None:
        """Raise `IngestError` if an object was replaced while Spark read it: its splits may be of both.

        Covers the reads since the last call; call it after the records are computed.
        """
        split, self._split = self._split, []
        if len(keep_present(self._store, split)) < len(split):
            raise IngestError(
                f"table {self._name}: a large object was replaced while it was read",
                hint="the batch is retried, and then reads the current content",
            )

    def _build_config(self, schema: StructType) -> ReaderConfig:
        evolution, is_known = self._evolution, schema is not _NOTHING_KNOWN
        record_bytes = int(self._table.max_record_bytes)
        return ReaderConfig(
            self._store,
            self._format,
            self._options,
            self._with_envelope(schema),
            # The object is the record.
            record_bytes if self._format == "binary" else MAX_OBJECT_BYTES,
            record_bytes,
            reports=evolution.reports and is_known,
            rescues=evolution.rescued_column is not None,
            ignored=evolution.ignored,
            numbers=self._list_numbers(schema),
            window=build_window(self._table),
        )

    def _with_envelope(self, schema: StructType) -> StructType:
        return StructType([*schema, *ENVELOPE_SCHEMA]) if self._unwraps else schema

    def _list_numbers(self, schema: StructType) -> frozenset[str]:
        """Return columns of numbers in texts: with inferred types (CSV), or with hinted ones."""
        if self._format in COLUMN_FORMATS or self._table.schema_:
            return frozenset()
        hinted, is_csv = self._list_hinted(), self._format == "csv"
        numbers = [field.name for field in schema if isinstance(field.dataType, NumericType)]
        return frozenset(name for name in numbers if (name.lower() in hinted) is not is_csv)


def _build_address(stored: StoredEvent) -> str:
    event = stored.event
    return build_uri(event.provider, event.bucket, event.key)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Built once per schema: each step of an expression is a round trip to the JVM."""

    schema: StructType
    config: ReaderConfig
    reader: ObjectReader
    record: Column
    corrupt: Column
    misfits: MisfitFinder

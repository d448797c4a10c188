"""Applies a table's schema evolution mode to the new columns of a batch's objects."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headwater.config.table import TableConfig
from headwater.config.table.typed_options import list_ordering
from headwater.errors import NewColumnsError
from headwater.ingest.columns.column_names import rename_for_hudi
from headwater.ingest.columns.schema import from_arrow, infer_from_lines, parse_ddl
from headwater.ingest.evolution.number_types import find_numbers_in_fields, find_numbers_in_json
from headwater.ingest.evolution.schema_merge import ColumnEvolution, MergeRules, merge_schemas
from headwater.ingest.evolution.schema_sample import SchemaSample
from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.reader_options import ReaderOptions

_log = logging.getLogger(__name__)

_TYPED_FORMATS = frozenset({"parquet", "orc", "avro", "binary", "document"})
_SHOWN_COLUMNS = 10


@dataclass(frozen=True, slots=True)
class ObjectSample:
    """Columns of one object, by its address, that the table lacks."""

    uri: str
    sample: SchemaSample


@dataclass(frozen=True, slots=True)
class BadRecord:
    """The text of a record that did not fit the columns, and its object's address."""

    uri: str
    text: str


class SchemaEvolution:
    """Merges columns of objects into the columns of one table. Used by one thread.

    `brought_by` maps column paths to the objects that introduced a change.
    """

    def __init__(self, spark: SparkSession, name: str, table: TableConfig) -> None:
        self._spark = spark
        self._name = name
        self._table = table
        self._format = table.effective_format
        self._hinted: frozenset[str] | None = None
        self._kept: frozenset[str] = frozenset()
        self.mode = table.effective_schema_evolution_mode
        self.rescued_column = table.effective_rescued_data_column
        self.brought_by: dict[str, str] = {}

    @property
    def reports(self) -> bool:
        """True if objects must report columns that the table lacks."""
        return self.mode in ("add_new_columns", "fail_on_new_columns")

    @property
    def widens(self) -> bool:
        """True if columns are widened for records that do not fit."""
        return self.mode == "add_new_columns"

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns with another origin, which objects cannot set."""
        own = (self.rescued_column,) if self.rescued_column else ()
        return (*self._table.partition_columns, *own)

    def build_rules(self, present: StructType) -> MergeRules:
        """Return the rules for changes of this table's columns."""
        if self._hinted is None:
            hints = self._table.effective_schema_hints
            names = parse_ddl(self._name, "schema_hints", hints).fieldNames() if hints else ()
            self._hinted = frozenset(name.lower() for name in names)
        wanted = {*self._table.record_key, *list_ordering(self._table), *self._table.partition}
        stored = list(zip(present.fieldNames(), rename_for_hudi(present).fieldNames(), strict=True))
        typed = {name.lower() for name in self._table.columns} if not self._table.transform else set()
        return MergeRules(
            is_text=self._format not in _TYPED_FORMATS,
            keys=frozenset(name.lower() for name, in_table in stored if in_table in wanted),
            pinned=self._hinted
            | self._kept
            | {name.lower() for name, in_table in stored if in_table.lower() in typed},
            ignored=frozenset(name.lower() for name in self.ignored),
        )

    def keep_types(self, columns: frozenset[str]) -> None:
        """Pin the current types of these columns, named in lower case."""
        self._kept |= columns

    def merge(
        self,
        present: StructType,
        samples: Sequence[ObjectSample],
        bad: Sequence[BadRecord],
        *,
        is_first: bool = False,
    ) -> StructType:
        """Return the columns that the table needs for these objects and records.

        Raises `NewColumnsError` if the mode rejects new columns, but not while the columns are inferred from
        the first batch (`is_first`).
        """
        rules = self.build_rules(present)
        merged = present
        for found, objects in self._infer(samples):
            result = merge_schemas(merged, found, rules)
            if self.mode == "fail_on_new_columns" and not is_first:
                self._refuse(result.changes, objects)
                continue
            merged = result.schema
            self._note(result.accepted, objects)
        if self.widens:
            merged = self._widen(merged, bad, rules)
        return merged

    def _infer(self, samples: Sequence[ObjectSample]) -> list[tuple[StructType, Sequence[ObjectSample]]]:
        """Return the samples' columns and origins; samples with equal names are inferred together."""
        found: list[tuple[StructType, Sequence[ObjectSample]]] = []
        by_names: dict[tuple[str, ...] | None, list[ObjectSample]] = {}
        for entry in samples:
            if entry.sample.columns is not None:
                found.append((from_arrow(entry.sample.columns), [entry]))
            else:
                by_names.setdefault(entry.sample.names, []).append(entry)
        for names, entries in by_names.items():
            lines = [record for entry in entries for record in entry.sample.records]
            schema = infer_from_lines(self._spark, self._format, names, lines, self._table.options)
            if schema is not None:
                found.append((schema, entries))
        return found

    def _refuse(self, changes: Sequence[ColumnEvolution], objects: Sequence[ObjectSample]) -> None:
        added = [change for change in changes if change.kind == "added"]
        if not added:
            return
        shown = ", ".join(f"{change.column} ({change.after})" for change in added[:_SHOWN_COLUMNS])
        raise NewColumnsError(
            f"table {self._name}: {_find_bringer(added[0], objects)} has columns that the table does not "
            f"have: {shown}" + (" ..." if len(added) > _SHOWN_COLUMNS else ""),
            hint=f"set tables.{self._name}.schema_evolution_mode to add_new_columns to add them (the table "
            "resumes where it stopped), to rescue to keep their values in one column, or to none to ignore "
            "them; or add them to `schema`",
        )

    def _note(self, changes: Sequence[ColumnEvolution], objects: Sequence[ObjectSample]) -> None:
        for change in changes:
            uri = _find_bringer(change, objects)
            self.brought_by[change.column] = uri
            what = (self._name, change.column, change.kind, change.after, uri)
            _log.info("table %s: column %s %s as %s; introduced by %s", *what)

    def _widen(self, present: StructType, bad: Sequence[BadRecord], rules: MergeRules) -> StructType:
        merged = present
        for record in bad:
            for found in self._find_numbers(record.text, present):
                result = merge_schemas(merged, found, rules)
                merged = result.schema
                for change in result.accepted:
                    self.brought_by[change.column] = record.uri
        return merged

    def _find_numbers(self, text: str, present: StructType) -> list[StructType]:
        if self._format == "csv":
            dialect = CsvDialect.from_options(ReaderOptions(self._table.options))
            return find_numbers_in_fields([[dialect.unquote(f) for f in dialect.split(text)]], present)
        return find_numbers_in_json([text], present, quoted=self._format == "xml")


def _find_bringer(change: ColumnEvolution, objects: Sequence[ObjectSample]) -> str:
    """Return the first object whose sample has the column, else the first object."""
    name = change.column.rsplit(".", 1)[-1].rstrip("[]{}")
    mark = f"{json.dumps(name, ensure_ascii=False)}:"
    for entry in objects:
        names = entry.sample.names
        if name in names if names is not None else any(mark in record for record in entry.sample.records):
            return entry.uri
    return objects[0].uri

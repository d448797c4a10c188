"""Samples an object's columns that its table lacks, with their values. Runs in executors."""

from collections.abc import Sequence

import pyarrow as pa

from headwater.ingest.evolution.schema_sample import SchemaSample, is_other
from headwater.ingest.evolution.unknown_fields import FieldScanner, write_json
from headwater.ingest.formats.arrow_types import to_spark_schema
from headwater.ingest.formats.protocol import Lines, LinesFormat, ObjectData
from headwater.ingest.formats.reader_options import ReaderOptions

_SAMPLE_RECORDS = 1_000
_RECORDS_NAME_FIELDS = frozenset({"json", "json_array", "xml", "xlsx"})


class ColumnSampler:
    """Compares objects of one format with the columns of one table."""

    def __init__(
        self,
        format_name: str,
        options: ReaderOptions,
        schema: pa.Schema,
        ignored: Sequence[str],
        *,
        rescues: bool,
    ) -> None:
        self._records_name_fields = format_name in _RECORDS_NAME_FIELDS
        self._is_xml = format_name == "xml"
        self._options = options
        self._schema = schema
        self._ignored = ignored
        self._rescues = rescues
        self._scanner = FieldScanner(schema, ignored)
        self._known: dict[str, SchemaSample | None] = {}

    def sample_lines(
        self, lines_format: LinesFormat, source: ObjectData, lines: Lines
    ) -> tuple[Sequence[str], Sequence[str | None], SchemaSample | None]:
        """Return the texts (with the table's spelling of names), their rescued data, and any sample."""
        if self._records_name_fields:
            found = self._scanner.scan(lines.texts, rescues=self._rescues)
            if not found.sample:
                return found.texts, found.rescued, None
            # XML has only the types that all values of an object agree with.
            head = lines_format.sample(source, self._options, _SAMPLE_RECORDS) if self._is_xml else None
            return found.texts, found.rescued, SchemaSample(records=head.lines if head else found.sample)
        if not any(map(self._scanner.is_novel, lines.unknown)):
            return lines.texts, lines.rescued, None
        head = lines_format.sample(source, self._options.replace(header="true"), _SAMPLE_RECORDS)
        return lines.texts, lines.rescued, SchemaSample(names=head.names, records=head.lines)

    def sample_table(self, columns: pa.Schema) -> SchemaSample | None:
        """Return the object's columns unless they are the table's, with the same types."""
        key = columns.to_string(show_field_metadata=False, show_schema_metadata=False)
        if key not in self._known:
            found = to_spark_schema(columns)
            is_new = is_other(found, self._schema, self._ignored)
            self._known[key] = SchemaSample(columns=found) if is_new else None
        return self._known[key]

    def rescue_table(self, table: pa.Table, misfits: Sequence[str]) -> Sequence[str | None]:
        """Return per row the JSON of values without a column and of misfits; None if there are none."""
        rescued: list[str | None] = []
        for row in table.to_pylist():
            found = self._scanner.find_in_row(row)
            found |= {name: row[name] for name in misfits if row[name] is not None}
            rescued.append(write_json(found) if found else None)
        return rescued

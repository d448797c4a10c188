"""Parses CSV objects whose headers name the table's columns in different orders."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from headwater.errors import ObjectSchemaError
from headwater.ingest.columns.schema import CORRUPT
from headwater.ingest.formats.csv import ColumnOrder, name_columns
from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.csv_header import has_header
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.parsing.record_parser import RecordParser
from headwater.ingest.reading.object_reader import ReaderConfig

_MAX_LAYOUTS = 20
"""Limit on different headers in one batch: each adds a parser to the plan."""


class CsvLayouts:
    """The order of each object's fields: the table's own (0), or its header's (1, 2 ...)."""

    def __init__(self, config: ReaderConfig) -> None:
        options = ReaderOptions(config.options)
        is_without = options.text("header") != "" and not options.flag("header")
        self.may_have_header = config.file_format == "csv" and not is_without
        self._config = config
        self._options = options
        self._dialect = CsvDialect.from_options(options) if self.may_have_header else CsvDialect()
        self._headless: set[int] = set()
        self._numbers: dict[tuple[str, ...], int] = {}
        self._by_object: dict[int, int] = {}

    @property
    def reordered(self) -> frozenset[int]:
        """Objects whose fields are in another order than the columns."""
        return frozenset(self._by_object)

    def add(self, object_index: int, header: str) -> bool:
        """Register an object's header, its first record; return False if the object must be read whole."""
        if not self._dialect.is_complete(header) or "\ufffd" in header:
            return False
        columns = self._config.schema.fieldNames()
        if not has_header(self._dialect, self._options, header, columns):
            self._headless.add(object_index)
            return True
        names = name_columns(self._dialect, header)
        if [name.lower() for name in names] == [column.lower() for column in columns]:
            return True
        if self._config.rescues:
            # A misfit is identified by its position.
            return False
        if names not in self._numbers:
            if len(self._numbers) >= _MAX_LAYOUTS:
                return False
            try:
                ColumnOrder.build("", names, columns)
            except ObjectSchemaError:
                return False
        self._by_object[object_index] = self._numbers.setdefault(names, len(self._numbers) + 1)
        return True

    def has_header(self, object_index: int) -> bool:
        """True if the first record of an object is a header."""
        return self.may_have_header and object_index not in self._headless

    def find(self, object_index: int) -> int:
        """Return the number of an object's layout."""
        return self._by_object.get(object_index, 0)

    def parse(self, rows: DataFrame, parser: RecordParser) -> DataFrame:
        """Add `parsed`, the result of `parser` for `value`, to rows that have `value` and `layout`."""
        if not self._numbers:
            return parser.add_record(rows, "parsed", F.lit(True))
        layout = F.col("layout")
        # One column per layout first, so that no record is parsed once for every field.
        rows = parser.add_record(rows, "layout_0", layout == 0)
        parsed = F.when(layout == 0, self._build_parsed(F.col("layout_0"), self._config.schema.fieldNames()))
        for names, number in self._numbers.items():
            rows = self._build_parser(names).add_record(rows, f"layout_{number}", layout == number)
            ours = self._build_parsed(F.col(f"layout_{number}"), self._name_fields(names))
            parsed = parsed.when(layout == number, ours)
        return rows.withColumn("parsed", parsed)

    def _build_parsed(self, found: Column, fields: Sequence[str | None]) -> Column:
        """Build the table's columns from the fields of their names, and the text of misfit values."""
        values = [
            (found.getField(name) if name else F.lit(None).cast(column.dataType)).alias(column.name)
            for name, column in zip(fields, self._config.schema, strict=True)
        ]
        return F.struct(*values, found.getField(CORRUPT).alias(CORRUPT))

    def _order(self, names: tuple[str, ...]) -> tuple[int, ...]:
        return ColumnOrder.build("", names, self._config.schema.fieldNames()).indexes

    def _build_parser(self, names: tuple[str, ...]) -> RecordParser:
        config = self._config
        numbers = {
            f"_{at}"
            for at, column in zip(self._order(names), config.schema.fieldNames(), strict=True)
            if column in config.numbers
        }
        return RecordParser("csv", self._build_schema(names), config.options, numbers)

    def _build_schema(self, names: tuple[str, ...]) -> StructType:
        kinds = {
            at: column.dataType for at, column in zip(self._order(names), self._config.schema, strict=True)
        }
        return StructType([StructField(f"_{at}", kinds.get(at, StringType())) for at in range(len(names))])

    def _name_fields(self, names: tuple[str, ...]) -> list[str | None]:
        return [f"_{at}" if at < len(names) else None for at in self._order(names)]

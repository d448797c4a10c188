"""Parses record texts to structs of the data columns."""

from collections.abc import Collection, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from headwater.ingest.columns.schema import CORRUPT, parser_options
from headwater.ingest.parsing.corrections import Corrections

COLUMN_FORMATS = frozenset({"parquet", "orc", "avro", "binary", "document"})


class RecordParser:
    """Converts record text -> parsed struct -> the text of values that do not fit, or null.

    `numbers` are columns whose texts are checked: see `Corrections`.
    """

    def __init__(
        self,
        file_format: str,
        schema: StructType,
        options: Mapping[str, str],
        numbers: Collection[str] = (),
    ) -> None:
        self._format = file_format
        self._schema = schema
        own = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
        self.options = parser_options(file_format, options) | own
        self._corrections = Corrections(file_format, schema, options, numbers)

    def build_record(self, value: Column) -> Column:
        """Build a struct with at least the data columns."""
        if self._format in COLUMN_FORMATS:
            return value
        if self._format == "text":
            return F.struct(value.alias("value"))
        typed = self._parse(value, self._schema)
        if not self._corrections.are_needed:
            return typed
        return self._corrections.apply(value, typed, self._parse(value, self._corrections.text_schema))

    def _parse(self, value: Column, schema: StructType) -> Column:
        with_corrupt = StructType([*schema.fields, StructField(CORRUPT, StringType())])
        if self._format == "csv":
            return F.from_csv(value, _to_ddl(with_corrupt), self.options)
        return F.from_json(value, with_corrupt, self.options)

    def build_corrupt(self, parsed: Column) -> Column:
        """Return null for a record that fits its columns."""
        if self._format in COLUMN_FORMATS or self._format == "text":
            return F.lit(None).cast(StringType())
        return parsed.getField(CORRUPT)

    def select_record(self, parsed: Column) -> Column:
        """Select the struct of exactly the data columns from that of `build_record`."""
        return F.struct(*(parsed.getField(field.name).alias(field.name) for field in self._schema))


def _to_ddl(schema: StructType) -> str:
    return ", ".join(f"`{f.name.replace('`', '``')}` {f.dataType.simpleString()}" for f in schema)

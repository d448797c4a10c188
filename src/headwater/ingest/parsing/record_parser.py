"""Parses record texts to structs of the data columns."""

from collections.abc import Collection, Mapping

from pyspark.sql import Column, DataFrame
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

    def add_record(self, rows: DataFrame, name: str, where: Column) -> DataFrame:
        """Add a struct with at least the data columns, from the column `value` of rows that `where` selects.

        The first of two steps adds the column `<name>_typed`: Spark then parses each text once, and compiles
        its corrections.
        """
        value = F.col("value")
        if self._format in COLUMN_FORMATS:
            return rows.withColumn(name, F.when(where, value))
        if self._format == "text":
            return rows.withColumn(name, F.when(where, F.struct(value.alias("value"))))
        typed = F.when(where, self._parse(value, self._schema))
        if not self._corrections.are_needed:
            return rows.withColumn(name, typed)
        first = f"{name}_typed"
        as_texts = self._parse(value, self._corrections.text_schema)
        corrected = self._corrections.apply(value, F.col(first), as_texts)
        return rows.withColumn(first, typed).withColumn(name, F.when(where, corrected))

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
        """Select the struct of exactly the data columns from that of `add_record`."""
        return F.struct(*(parsed.getField(field.name).alias(field.name) for field in self._schema))


def _to_ddl(schema: StructType) -> str:
    return ", ".join(f"`{f.name.replace('`', '``')}` {f.dataType.simpleString()}" for f in schema)

"""Values that Hudi would write into a record key or a folder name but not read back unchanged."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from headwater.config.table import TableConfig
from headwater.ingest.formats.record_reasons import AMBIGUOUS_KEY, BAD_PARTITION

# Hudi's placeholders for null and empty text in a key of several fields, and for both in a partition.
_KEY_PLACEHOLDERS = ("__null__", "__empty__")
_PARTITION_PLACEHOLDERS = ("", "__HIVE_DEFAULT_PARTITION__")
# hudi-rs rejects a table with control characters in its paths; Spark decodes escapes.
_UNREADABLE = r"[\x00-\x1f\x7f]|%[0-9a-fA-F]{2}"
# Hadoop resolves these to another partition's folder, or to one outside the table.
_RELATIVE = r"(^|/)\.{0,2}(/|$)"


@dataclass(frozen=True, slots=True)
class RowAddress:
    """The columns that determine a record's row, its version, and its folder."""

    record_key: tuple[str, ...] = ()
    ordering: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    is_encoded: bool = False
    is_plain: bool = False

    @classmethod
    def of(cls, table: TableConfig) -> "RowAddress":
        """Return the address of the rows of a table."""
        return cls(
            tuple(table.record_key),
            tuple(table.ordering),
            tuple(table.partition),
            is_encoded=bool(table.url_encode_partitions),
            is_plain=table.partition_style == "plain",
        )

    def iter_faults(self, record: Column, schema: StructType) -> Iterator[tuple[str, Column]]:
        """Yield each reason to reject records, with the condition that holds for such records."""
        texts = {field.name for field in schema if isinstance(field.dataType, StringType)}
        keys = self.record_key if len(self.record_key) > 1 else ()
        for at, name in enumerate(keys):
            if name in texts:
                value = record.getField(name)
                # Hudi joins several fields as `a:1,b:2`.
                borders = [value.contains(f",{following}:") for following in keys[at + 1 : at + 2]]
                yield AMBIGUOUS_KEY, reduce(or_, borders, value.isin(*_KEY_PLACEHOLDERS))
        for name in self.partition:
            if name in texts:
                yield BAD_PARTITION, self._is_bad_partition(record.getField(name))

    def _is_bad_partition(self, value: Column) -> Column:
        is_bad = value.isin(*_PARTITION_PLACEHOLDERS)
        if self.is_encoded:
            return is_bad
        is_path = F.lit(True) if self.is_plain else value.contains("/")
        return is_bad | value.rlike(_UNREADABLE) | (is_path & value.rlike(_RELATIVE))

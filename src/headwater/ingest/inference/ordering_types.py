"""Whether texts sort like the values they represent: a column that decides which row wins. Pure."""

import re
from collections.abc import Collection, Iterable, Sequence

from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from headwater.errors import ConfigError
from headwater.ingest.columns.column_names import assign_names, rename_for_hudi

_ISO = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?\s?(Z|[+-]\d\d(:?\d\d)?)?)?", re.IGNORECASE
)
_NUMBER = re.compile(r"[-+]?\d+(\.(?P<decimals>\d+))?")
_SHOWN = 3


def find_text_columns(schema: StructType, ordering: Collection[str]) -> list[str]:
    """Return text columns that order rows, by their names in objects."""
    stored = rename_for_hudi(assign_names(schema)).fieldNames()
    pairs = zip(schema, stored, strict=True)
    return [f.name for f, name in pairs if name in ordering and isinstance(f.dataType, StringType)]


def type_times(schema: StructType, columns: Collection[str]) -> StructType:
    """Return the schema with these columns as timestamps."""
    return StructType(
        [StructField(f.name, TimestampType()) if f.name in columns else f for f in schema],
    )


def are_times(texts: Iterable[str]) -> bool:
    """True if all are ISO 8601 dates, or times with a date."""
    return all(_ISO.fullmatch(text.strip()) for text in texts)


def build_text_refusal(table: str, key: str, column: str, texts: Sequence[str]) -> ConfigError:
    """Build the error for a column named by `key` whose text order is not configured.

    Its hint is the line to add.
    """
    some = ", ".join(repr(text[:40]) for text in list(dict.fromkeys(texts))[:_SHOWN])
    numbers = [_NUMBER.fullmatch(text.strip()) for text in texts]
    if numbers and all(numbers):
        # Hudi 1.2 fails on updates of tables that are ordered by decimals.
        kind = "double" if any(found["decimals"] for found in numbers if found) else "bigint"
        line = f'schema_hints: "{column} {kind}"` to order by the number'
    else:
        line = (
            f'schema_hints: "{column} timestamp"` if the values are times (set their format with '
            "`options: {timestampFormat: ...}`)"
        )
    return ConfigError(
        f"tables.{table}.{key}: column {column!r} is text{f', such as {some}' if some else ''}: in text "
        "order, '9' is newer than '10', and '10:00+02:00' is newer than '09:00Z'",
        hint=f'add `{line}, or `schema_hints: "{column} string"` if text order is correct',
    )

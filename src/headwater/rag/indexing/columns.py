"""Finds the columns of a data table that can be fields, and their kinds."""

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from headwater.config.search import SearchConfig
from headwater.rag.index_rules import OWN_PREFIXES


def list_plain_columns(schema: StructType) -> list[str]:
    """Return columns of texts, numbers, times, booleans, or lists of them."""
    return [field.name for field in schema if find_kind(field.dataType) is not None]


def find_kinds(schema: StructType, search: SearchConfig) -> dict[str, str]:
    """Return the kinds of the fields that queries can filter on, without the searched texts."""
    kinds = {}
    for field in schema:
        is_field = field.name in search.fields if search.fields else field.name not in search.text
        kind = find_kind(field.dataType)
        if kind is not None and is_field and not field.name.startswith(OWN_PREFIXES):
            kinds[field.name] = kind
    return kinds


def find_kind(data_type: DataType) -> str | None:
    """Return `keyword`, `number` or `bool`; None for a type that cannot be a field."""
    if isinstance(data_type, ArrayType):
        return "keyword" if find_kind(data_type.elementType) in ("keyword", "number") else None
    if isinstance(data_type, BooleanType):
        return "bool"
    if isinstance(data_type, NumericType):
        return "number"
    if isinstance(data_type, (StringType, DateType, TimestampType, TimestampNTZType)):
        return "keyword"
    return None

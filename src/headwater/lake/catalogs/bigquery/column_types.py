"""Converts column types between Spark, BigQuery DDL and the fields of BigQuery's REST API."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headwater.errors import CatalogError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType
    from sqlglot import exp

# The same mapping as Hudi's `BigQuerySchemaResolver`.
_NAMES = {
    "binary": "BYTES",
    "boolean": "BOOL",
    "byte": "INT64",
    "char": "STRING",
    "date": "DATE",
    "double": "FLOAT64",
    "float": "FLOAT64",
    "integer": "INT64",
    "long": "INT64",
    "short": "INT64",
    "string": "STRING",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "INT64",
    "varchar": "STRING",
}
# The REST API answers with legacy type names.
_OLDER = {"INTEGER": "INT64", "FLOAT": "FLOAT64", "BOOLEAN": "BOOL", "RECORD": "STRUCT"}
_NUMERIC_SCALE, _NUMERIC_WHOLE = 9, 29

Field = Mapping[str, Any]


def build_type(kind: "DataType", where: str) -> str:
    """Return the BigQuery type for a Spark type; a map becomes a repeated struct of entries, as in the files.

    Raises `CatalogError`, which names the column `where`, for a type that BigQuery does not support.
    """
    from pyspark.sql import types

    if isinstance(kind, types.DecimalType):
        is_small = kind.scale <= _NUMERIC_SCALE and kind.precision - kind.scale <= _NUMERIC_WHOLE
        return "NUMERIC" if is_small else "BIGNUMERIC"
    if isinstance(kind, types.StructType):
        fields = (f"`{one.name}` {build_type(one.dataType, f'{where}.{one.name}')}" for one in kind)
        return f"STRUCT<{', '.join(fields)}>"
    if isinstance(kind, types.MapType):
        key, value = (build_type(one, where) for one in (kind.keyType, kind.valueType))
        return f"STRUCT<`key_value` ARRAY<STRUCT<`key` {key}, `value` {value}>>>"
    if isinstance(kind, types.ArrayType) and not isinstance(kind.elementType, types.ArrayType):
        return f"ARRAY<{build_type(kind.elementType, where)}>"
    if kind.typeName() in _NAMES:
        return _NAMES[kind.typeName()]
    raise CatalogError(
        f"bigquery: column {where} has the type {kind.simpleString()}, which BigQuery does not support",
        hint="convert it with a `transform`, or add the table to `exclude`",
    )


def describe_field(field: Field) -> str:
    """Return the type of a REST API field as text."""
    name = str(field["type"]).upper()
    name = _OLDER.get(name, name)
    if name == "STRUCT":
        parts = (f"`{one['name']}` {describe_field(one)}" for one in field.get("fields") or ())
        name = f"STRUCT<{', '.join(parts)}>"
    return f"ARRAY<{name}>" if str(field.get("mode")).upper() == "REPEATED" else name


def build_field(name: str, text: str, held: Field | None = None) -> dict[str, Any]:
    """Build the REST API field for a type; keeps attributes that others set on the existing field `held`."""
    from sqlglot import exp

    return _build_field(name, exp.DataType.build(text, dialect="bigquery"), held)


def _build_field(name: str, kind: "exp.DataType", held: Field | None) -> dict[str, Any]:
    from sqlglot import exp

    field = {**(held or {}), "name": name, "mode": "NULLABLE"}
    if kind.is_type(exp.DataType.Type.ARRAY):
        field["mode"] = "REPEATED"
        kind = kind.expressions[0]
    if not kind.is_type(exp.DataType.Type.STRUCT):
        field.pop("fields", None)
        return {**field, "type": kind.sql("bigquery")}
    known = {one["name"]: one for one in (held or {}).get("fields") or ()}
    parts = [_build_field(one.name, one.args["kind"], known.get(one.name)) for one in kind.expressions]
    return {**field, "type": "STRUCT", "fields": parts}

"""Stores values that do not fit their columns as JSON with the record, so that the record is kept."""

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

FILE_PATH = "_file_path"
"""JSON field with the address of the record's object."""

_CORRUPT = "_corrupt_record"
_TEXTS = MapType(StringType(), StringType())


def build_misfits(
    file_format: str, schema: StructType, options: Mapping[str, str], value: Column, parsed: Column
) -> Column:
    """Build JSON of the field texts that did not fit, from a record's text and its parsed form.

    Null if no single field is the cause: the whole record is malformed. More expensive than parsing, so call
    it only for records marked as corrupt.
    """
    if file_format == "csv":
        texts = StructType([StructField(field.name, StringType()) for field in schema])
        as_text = F.from_csv(value, _to_ddl(StructType([*texts, _corrupt_field()])), dict(options))
        is_whole = as_text.getField(_CORRUPT).isNull()
        found = [_pick_misfit(f, as_text.getField(f.name), parsed) for f in schema]
    else:
        # PySpark's type stubs do not accept maps, but Spark does.
        as_text = F.from_json(value, _TEXTS, dict(options))  # type: ignore[arg-type]
        is_whole = as_text.isNotNull()
        found = [_pick_json_misfit(f, as_text.getItem(f.name), parsed, options) for f in schema]
    text = F.to_json(F.struct(*found))
    return F.when(is_whole & (text != "{}"), text)


def _pick_misfit(field: StructField, text: Column, parsed: Column) -> Column:
    return F.when(parsed.getField(field.name).isNull(), text).alias(field.name)


def _pick_json_misfit(field: StructField, text: Column, parsed: Column, options: Mapping[str, str]) -> Column:
    if not isinstance(field.dataType, StructType | ArrayType | MapType):
        return _pick_misfit(field, text, parsed)
    # Only the parser can detect text after the parsed value.
    wrapped = F.concat(F.lit('{"v":'), text, F.lit("}"))
    alone = StructType([StructField("v", field.dataType), _corrupt_field()])
    again = F.from_json(wrapped, alone, dict(options))
    return F.when(again.getField(_CORRUPT).isNotNull(), text).alias(field.name)


def _corrupt_field() -> StructField:
    return StructField(_CORRUPT, StringType())


def join_json(first: Column, second: Column) -> Column:
    """Merge two JSON objects; either may be null."""
    merged = F.concat(F.regexp_replace(first, r"\}$", ","), F.regexp_replace(second, r"^\{", ""))
    return F.coalesce(merged, first, second)


def add_file_path(rescued: Column, address: Column) -> Column:
    """Add the object's address as the last JSON field; null stays null."""
    return F.when(rescued.isNotNull(), join_json(rescued, F.to_json(F.struct(address.alias(FILE_PATH)))))


def _to_ddl(schema: StructType) -> str:
    return ", ".join(f"`{f.name.replace('`', '``')}` {f.dataType.simpleString()}" for f in schema)

"""Columns of a table for what a message has besides its value, and what its tombstones do."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator

from headwater.config.section import split_at_commas

MessageColumn = Literal["topic", "partition", "offset", "timestamp", "key", "headers"]

MessageColumns = Annotated[
    tuple[MessageColumn, ...],
    BeforeValidator(split_at_commas, json_schema_input_type=MessageColumn | list[MessageColumn]),
]

COLUMN_TYPES: Mapping[str, str] = {
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "key": "string",
    "headers": "map<string,string>",
}
"""The types of the columns, whose names begin with `_kafka_`."""

MESSAGE_FORMATS = ("json", "csv", "text", "avro_records", "protobuf")
"""Formats of a message."""
OBJECT_FORMATS = ("json", "avro_records", "protobuf")
"""Formats whose records have names for their fields, so that further ones can be added."""


def list_message_columns(columns: tuple[str, ...]) -> str:
    """Return the columns with their types, as a list of columns for Spark; empty for none."""
    return ", ".join(f"_kafka_{name} {COLUMN_TYPES[name]}" for name in columns)

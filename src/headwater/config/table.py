"""`tables:` what each data table is built from and how."""

import re
from typing import Annotated, Any, Literal

import bracex
from pydantic import BeforeValidator, ByteSize, Field, model_validator

from headwater.config.section import Section

FileFormat = Literal["json", "json_array", "csv", "parquet", "avro", "orc", "text", "binary", "xml"]

_FORMAT_BY_SUFFIX: dict[str, FileFormat] = {
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "csv": "csv",
    "tsv": "csv",
    "parquet": "parquet",
    "avro": "avro",
    "orc": "orc",
    "txt": "text",
    "log": "text",
    "xml": "xml",
}
COMPRESSION_SUFFIXES = ("gz", "gzip", "bz2", "zst", "zstd")


def _as_tuple(value: Any) -> Any:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return tuple(value) if isinstance(value, list) else value


def _as_path_tuple(value: Any) -> Any:
    # Not split at commas: a comma is a legal character of a key and of a brace pattern.
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


FieldNames = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
Patterns = Annotated[tuple[str, ...], BeforeValidator(_as_path_tuple)]


def infer_format(path: str) -> FileFormat | None:
    """The format that a path glob's ending names, compression endings aside; None when it names several."""
    formats = {_infer_one_format(expanded) for expanded in bracex.iexpand(path)}
    return formats.pop() if len(formats) == 1 else None


def _infer_one_format(path: str) -> FileFormat | None:
    parts = path.lower().rsplit("/", 1)[-1].split(".")
    while parts and parts[-1] in COMPRESSION_SUFFIXES:
        parts.pop()
    return _FORMAT_BY_SUFFIX.get(parts[-1]) if len(parts) > 1 else None


class TableConfig(Section):
    """One data table."""

    path: Patterns = Field(
        ("**",), description="Globs of keys (`*`, `**`, `?`, `[a]`, `{a,b}`), relative to the source."
    )
    prefix: str = Field("", description="Only keys that start with this (no wildcards).")
    suffix: Patterns = Field((), description="Only keys that end with one of these.")
    regex: str | None = Field(None, description="Only keys that this expression matches in full.")
    ignore_prefix: Patterns = Field((), description="No keys that start with one of these.")
    ignore_substring: Patterns = Field((), description="No keys that contain one of these.")
    format: FileFormat | None = Field(None, description="File format; default: by the path's ending.")
    mode: Literal["mirror", "merge", "append"] | None = Field(
        None, description="Default: merge with a record_key, append without."
    )
    record_key: FieldNames = Field((), description="Fields that identify a row (merge).")
    ordering: FieldNames = Field(
        (), description="The row with the higher value wins (merge); default: the newer event."
    )
    partition: FieldNames = Field((), description="Fields the table is partitioned by.")
    partition_columns: FieldNames = Field(
        (), description="Columns taken from `name=value` parts of the key."
    )
    table_type: Literal["copy_on_write", "merge_on_read"] = Field("copy_on_write", description="Hudi table type.")
    operation: Literal["upsert", "insert", "bulk_insert"] | None = Field(
        None, description="Default: upsert for merge, insert for append."
    )
    schema_: str | None = Field(
        None, alias="schema", description="Columns as DDL (`id bigint, name string`); default: inferred once."
    )
    schema_hints: str | None = Field(None, description="DDL of columns whose inferred type is wrong.")
    options: dict[str, str] = Field({}, description="Options of Spark's reader for this format.")
    hoodie: dict[str, str] = Field({}, description="Any `hoodie.*` write option; wins over typed ones.")
    max_files_per_trigger: int = Field(10_000, ge=1, le=100_000, description="Objects in one batch, at most.")
    max_bytes_per_trigger: ByteSize = Field(
        ByteSize(10 * 1024**3), ge=1, description="Bytes of objects in one batch, about."
    )
    large_file_bytes: ByteSize = Field(
        ByteSize(32 * 1024**2), ge=1, description="Objects from this size on are read by Spark in splits."
    )

    @property
    def effective_format(self) -> FileFormat:
        """The format: as given, else by the ending of the first path."""
        found = self.format or infer_format(self.path[0])
        assert found is not None  # noqa: S101 - checked by the validator below
        return found

    @property
    def effective_mode(self) -> Literal["mirror", "merge", "append"]:
        """The mode: as given, else merge with a record key and append without."""
        return self.mode or ("merge" if self.record_key else "append")

    @property
    def effective_operation(self) -> Literal["upsert", "insert", "bulk_insert"]:
        """The write operation: as given, else the one that fits the mode."""
        return self.operation or ("upsert" if self.effective_mode == "merge" else "insert")

    @model_validator(mode="after")
    def _check_combinations(self) -> "TableConfig":
        problems = list(self._problems())
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _problems(self) -> "list[str]":
        found = []
        mode = self.effective_mode
        if self.format is None and infer_format(self.path[0]) is None:
            found.append(f"`format` is missing and cannot be told from path {self.path[0]!r}")
        if mode == "mirror":
            found.append("`mode: mirror` is not available in this version; use merge or append")
        if mode == "merge" and not self.record_key:
            found.append("`mode: merge` needs a `record_key`")
        if mode == "append" and self.ordering:
            found.append("`ordering` has no meaning with `mode: append`; use `mode: merge`")
        if mode == "append" and self.operation == "upsert":
            found.append("`operation: upsert` needs `mode: merge`")
        if mode == "merge" and self.operation in ("insert", "bulk_insert"):
            found.append(f"`operation: {self.operation}` would keep duplicates; `mode: merge` writes with upsert")
        if self.regex is not None:
            try:
                re.compile(self.regex)
            except re.error as error:
                found.append(f"`regex` is not a regular expression: {error}")
        return found

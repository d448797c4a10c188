"""Conflicts between the keys that determine a table's columns."""

import re
from collections.abc import Iterator

from headwater.config.file_format import FIXED_COLUMNS, RECORD_ENCODINGS
from headwater.config.own_columns import is_own_column
from headwater.config.processing.ddl import DdlError, check_ddl
from headwater.config.processing.reader_options import iter_reader_option_problems
from headwater.config.table.fields import TableFields
from headwater.config.table.schema_source import AVRO_SUFFIX, DESCRIPTOR_SUFFIXES

_COLUMN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

Problem = tuple[tuple[str, ...], str]


def iter_schema_problems(table: TableFields) -> Iterator[Problem]:
    """Yield invalid column lists, unknown options of the format, and conflicts of evolving and rescued
    columns. The table's format is known."""
    declared = table.schema_.ddl if table.schema_ is not None else None
    for key, ddl in (("schema", declared), ("schema_hints", table.schema_hints)):
        if ddl is not None:
            yield from _iter_ddl_problems(key, ddl)
    yield from iter_reader_option_problems(table.effective_format, table.options)
    yield from _iter_record_problems(table)
    mode, allowed = table.schema_evolution_mode, "Allowed: rescue, fail_on_new_columns, none"
    if mode == "add_new_columns" and table.schema_ is not None:
        yield (
            ("schema_evolution_mode",),
            f"{mode!r} cannot be combined with `schema`, which lists all columns; set types in "
            "`schema_hints`. " + allowed,
        )
    if table.effective_format in FIXED_COLUMNS:
        text = f"`format: {table.effective_format}` has fixed columns"
        if mode not in (None, "none"):
            yield ("schema_evolution_mode",), f"{mode!r} is not applicable: {text}. Allowed: none"
        if table.rescued_data_column:
            yield ("rescued_data_column",), f"not applicable: {text}"
    name = table.rescued_data_column
    if name is not None and (not _COLUMN_NAME.fullmatch(name) or is_own_column(name.lower())):
        yield (
            ("rescued_data_column",),
            f"{name!r} is not a valid column name. Allowed: letters, digits, `_`; no meta field of Hudi or "
            "headwater",
        )


def _iter_record_problems(table: TableFields) -> Iterator[Problem]:
    """Yield what formats lack whose records do not describe themselves."""
    encoding, schema = RECORD_ENCODINGS.get(table.effective_format), table.schema_
    if encoding is None:
        return
    what = f"`format: {table.effective_format}`"
    files = AVRO_SUFFIX if encoding == "avro" else ", ".join(DESCRIPTOR_SUFFIXES)
    if schema is None or schema.ddl is not None:
        yield (
            ("schema",),
            f"missing a schema of the records, which {what} requires. Allowed: `file` ({files}), or "
            "`registry` with `subject`",
        )
    elif schema.file is not None and schema.is_avro_file is not (encoding == "avro"):
        yield ("schema", "file"), f"{schema.file.name} does not fit {what}. Allowed: {files}"
    elif schema.registry is None and _is_confluent(table):
        yield (
            ("options", "confluent"),
            "true requires `registry` in `schema`, which has the schemas that records name by their ids",
        )
    if table.schema_evolution_mode not in (None, "none"):
        text = f"{table.schema_evolution_mode!r} is not applicable: columns of {what} are those of its schema"
        yield ("schema_evolution_mode",), f"{text}. Allowed: none"
    if table.rescued_data_column:
        yield ("rescued_data_column",), f"not applicable: {what} reads exactly the fields of its schema"


def _is_confluent(table: TableFields) -> bool:
    return any(n.lower() == "confluent" and v.lower() == "true" for n, v in table.options.items())


def _iter_ddl_problems(key: str, ddl: str) -> Iterator[Problem]:
    try:
        check_ddl(ddl)
    except DdlError as error:
        yield (key,), f"{ddl!r} is not a list of columns such as `id bigint, name string`: {error}"

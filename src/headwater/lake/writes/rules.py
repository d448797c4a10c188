"""Validates writes to a table outside its pipeline. Pure."""

from collections.abc import Sequence
from typing import Literal, get_args

from headwater.config.problems.nearest import find_nearest
from headwater.config.table import TableConfig
from headwater.errors import UsageError

WriteOperation = Literal["upsert", "insert", "bulk_insert", "insert_overwrite", "insert_overwrite_table"]
OVERWRITES: frozenset[WriteOperation] = frozenset({"insert_overwrite", "insert_overwrite_table"})

_ALLOWED: dict[str, tuple[WriteOperation, ...]] = {
    "merge": ("upsert", "insert_overwrite", "insert_overwrite_table"),
    "append": ("insert", "bulk_insert", "insert_overwrite", "insert_overwrite_table"),
}
OWN_PREFIX = "_headwater_"
"""The prefix of columns that headwater fills; a frame may omit them."""
ROW_ORIGIN = (f"{OWN_PREFIX}event_id", f"{OWN_PREFIX}row")
"""These columns identify rows of an append table, even if they are not its key."""


def check_writable(name: str, config: TableConfig) -> None:
    """Raise `UsageError` for a table whose rows are those of its objects alone."""
    if config.effective_mode == "mirror":
        raise UsageError(
            f"table {name} is a mirror: its rows are those of its objects, and the next change of an object "
            "would delete other rows",
            hint="write objects to the source; or configure a table with `mode: merge` or `append`",
        )
    if config.changes is not None:
        raise UsageError(
            f"table {name} has `changes`: its rows are those of a database, and a row written here has no "
            "place among their changes",
            hint="change the row in the database; or write to another table with `mode: merge`",
        )
    if config.complete_when is not None:
        raise UsageError(
            f"table {name} has `complete_when`: its rows are those of a set of files, and the next set would "
            "undo the write",
            hint="write a new set of files; or write to another table with `mode: merge`",
        )


def check_operation(name: str, config: TableConfig, operation: str) -> None:
    """Raise `UsageError` for an operation that would violate the guarantees of the table's mode."""
    check_writable(name, config)
    mode = config.effective_mode
    allowed = _ALLOWED[mode]
    if operation in allowed:
        return
    if operation in get_args(WriteOperation):
        would = "keep duplicates" if mode == "merge" else "need keys"
        text = f"operation {operation!r} would {would} in table {name} (`mode: {mode}`)"
        raise UsageError(text, hint=f"allowed: {', '.join(allowed)}")
    near = find_nearest(operation, allowed)
    suggestion = f"did you mean {near}? " if near else ""
    raise UsageError(f"unknown operation {operation!r}", hint=f"{suggestion}allowed: {', '.join(allowed)}")


def check_columns(name: str, given: Sequence[str], stored: Sequence[str], needed: Sequence[str]) -> None:
    """Raise `UsageError` if a frame has unknown columns, or lacks a required one.

    `stored` and `needed` may contain headwater's own columns, which a frame may omit.
    """
    known = {column.lower() for column in stored}
    unknown = [column for column in given if column.lower() not in known]
    shown = ", ".join(c for c in stored if not c.startswith(("_hoodie_", OWN_PREFIX)))
    if unknown:
        raise UsageError(
            f"table {name} has no column {', '.join(unknown)}", hint=f"drop or rename them; columns: {shown}"
        )
    have = {column.lower() for column in given}
    missing = [c for c in needed if c.lower() not in have and not c.startswith(OWN_PREFIX)]
    if missing:
        raise UsageError(
            f"rows without {', '.join(missing)} cannot be written to table {name}",
            hint="the key, ordering and partition fields of the table are required",
        )

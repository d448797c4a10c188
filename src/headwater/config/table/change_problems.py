"""Conflicts of `changes` with each other, and with other keys of a table."""

from collections.abc import Iterator

from headwater.config.hudi.checking import PREFIX
from headwater.config.table.changes import ChangesConfig
from headwater.config.table.fields import TableFields

Problem = tuple[tuple[str, ...], str]

_OPERATIONS = ("insert", "update", "delete", "truncate", "snapshot", "ignore")
ENVELOPE_FORMATS = ("json", "json_array", "parquet", "avro", "orc", "avro_records", "protobuf")
"""Formats whose records can be envelopes."""


_DECIDING = (
    f"{PREFIX}table.ordering.fields",
    f"{PREFIX}datasource.write.precombine.field",
    f"{PREFIX}write.record.merge.mode",
    f"{PREFIX}combine.before.upsert",
    # With the older class, an older delete removes a newer row (Hudi 1.2).
    f"{PREFIX}write.merge.handle.class",
    f"{PREFIX}compact.merge.handle.class",
)


def iter_change_problems(table: TableFields) -> Iterator[Problem]:
    """Yield conflicts of `changes`, and of other keys with it."""
    if table.changes is None:
        return
    yield from _iter_own_problems(table.changes.settled)
    yield from _iter_table_problems(table, table.changes)


def _iter_own_problems(changes: ChangesConfig) -> Iterator[Problem]:
    if changes.op is None:
        yield ("changes", "op"), "missing; name the field with the operation, or set a `preset`"
    if not changes.delete and not changes.truncate:
        yield (
            ("changes", "delete"),
            "missing; without operations that delete rows, use `mode: merge` with `ordering` instead",
        )
    seen: dict[str, str] = {}
    for name in _OPERATIONS:
        for operation in getattr(changes, name):
            if operation in seen:
                text = f"{operation!r} is also an operation of `{seen[operation]}`; it can only mean one"
                yield ("changes", name), text
            seen[operation] = name
    if changes.after is None:
        for name in ("before", "table"):
            if getattr(changes, name):
                yield ("changes", name), "has no meaning without `after`: only an envelope has it"
    elif changes.before_prefix:
        yield ("changes", "before_prefix"), "cannot be combined with `after`; use `before`"


def _iter_table_problems(table: TableFields, changes: ChangesConfig) -> Iterator[Problem]:
    if table.mode not in (None, "merge"):
        yield ("mode",), f"{table.mode!r} cannot be combined with `changes`. Allowed: merge"
    if not table.record_key:
        yield ("record_key",), "missing; `changes` requires the columns of the database's primary key"
    if table.ordering:
        yield ("ordering",), "cannot be combined with `changes`; use `changes.sequence`"
    for name in ("merge_mode", "partial_updates", "payload", "merger"):
        if getattr(table, name):
            yield (name,), "cannot be combined with `changes`, which decides which change of a row wins"
    for key in _DECIDING:
        if key in table.hoodie:
            text = "decides which change of a row wins, as `changes` does; remove it"
            yield ("hoodie", key), text
    is_global = table.index is not None and table.index.type.startswith("global_")
    outside = [name for name in table.partition if name not in table.record_key]
    if outside and not is_global:
        yield (
            ("index",),
            f"must find a row in every partition: a delete may lack {outside[0]!r}, and an update may change "
            "it. Add `index: {type: global_record_level}`, or partition by columns of the `record_key`",
        )
    if changes.is_envelope and table.effective_format not in ENVELOPE_FORMATS:
        allowed = ", ".join(ENVELOPE_FORMATS)
        yield (
            ("changes", "after"),
            f"not applicable with `format: {table.effective_format}`, which has no nested fields. Allowed: "
            f"{allowed}",
        )
    if table.concurrency == "non_blocking":
        yield ("concurrency",), "'non_blocking' cannot be combined with `changes`. Allowed: optimistic"

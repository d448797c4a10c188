"""Conflicts of `complete_when` and `history` with each other, and with other keys of a table."""

from collections.abc import Iterator

from headwater.config.file_format import infer_format
from headwater.config.table.fields import VALIDITY, TableFields
from headwater.config.table.file_sets import CompleteWhen, find_set_folder

Problem = tuple[tuple[str, ...], str]

_CONDITIONS = ("marker", "manifest", "files", "quiet_for")
_EVERY_ROW = "cannot be combined with `complete_when`: the table is made equal to a set of files"


def iter_file_set_problems(table: TableFields) -> Iterator[Problem]:
    """Yield conflicts of `complete_when`, and of other keys with it."""
    if table.complete_when is None:
        if table.history is not None:
            yield ("history",), "not applicable without `complete_when`, which sets what a version is"
        return
    yield from _iter_own_problems(table, table.complete_when)
    yield from _iter_table_problems(table)
    if table.history is not None:
        yield from _iter_history_problems(table)


def _iter_own_problems(table: TableFields, rule: CompleteWhen) -> Iterator[Problem]:
    if all(getattr(rule, name) is None for name in _CONDITIONS):
        allowed = ", ".join(_CONDITIONS)
        yield ("complete_when",), f"needs at least one condition. Allowed: {allowed}"
    folder = rule.folder if rule.folder is not None else find_set_folder(table.path)
    if folder is None:
        shown = ", ".join(repr(path) for path in table.path)
        yield (
            ("complete_when", "folder"),
            f"missing, and `path` ({shown}) does not imply it; name the folders that hold one set each, such "
            "as `customers/dump_date=*`",
        )
        return
    if "**" in folder.split("/"):
        text = "`**` matches folders of any depth; use one `*` for each part of the folder"
        yield ("complete_when", "folder"), text
    for name in ("marker", "manifest"):
        given = getattr(rule, name)
        if given is not None and (not given or given.startswith("/") or "/.." in f"/{given}"):
            text = f"{given!r} is not the name of a file in the set's folder; write it such as `_SUCCESS`"
            yield ("complete_when", name), text
    for name in table.partition_columns:
        if f"/{name}=" in f"/{folder}":
            yield (
                ("partition_columns",),
                f"{name!r} is part of the folder of a set, so that every row would differ from the set "
                "before; remove it",
            )


def _iter_table_problems(table: TableFields) -> Iterator[Problem]:
    if table.mode not in (None, "merge"):
        yield ("mode",), f"{table.mode!r} cannot be combined with `complete_when`. Allowed: merge"
    if not table.record_key:
        text = "missing; `complete_when` requires the columns by which the rows of two sets are compared"
        yield ("record_key",), text
    if table.changes is not None:
        yield ("changes",), "cannot be combined with `complete_when`, whose files hold rows, not changes"
    for name in ("modified_after", "modified_before"):
        if getattr(table, name):
            yield (name,), "cannot be combined with `complete_when`: a set would lack some of its files"
    for name in ("merge_mode", "partial_updates", "payload", "merger"):
        if getattr(table, name):
            yield (name,), _EVERY_ROW
    if table.concurrency == "non_blocking":
        yield ("concurrency",), f"'non_blocking' {_EVERY_ROW}. Allowed: optimistic"
    if infer_format(table.path[0]) == "document" or table.format == "document":
        yield ("format",), f"'document' {_EVERY_ROW}, and documents have no `record_key`"


def _iter_history_problems(table: TableFields) -> Iterator[Problem]:
    taken = {*table.record_key, *table.ordering, *table.partition, *table.partition_columns}
    for name in sorted(taken & set(VALIDITY)):
        yield ("history",), f"adds the column {name!r}, which the table has already; rename it by a transform"

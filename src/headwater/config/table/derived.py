"""Tables built from other tables: keys allowed with `from`, and the order of tables."""

from collections.abc import Iterator, Mapping

from headwater.config.problems.nearest import find_nearest
from headwater.config.table.fields import TableFields
from headwater.config.table.joined_problems import iter_joined_problems
from headwater.config.table.outside import OutsideTable, is_outside

Problem = tuple[tuple[str | int, ...], str]

_OF_OBJECTS = (
    *("path", "prefix", "suffix", "regex", "ignore_prefix", "ignore_substring", "format", "mode"),
    *("on_object_removed", "partition_columns", "schema_", "schema_hints", "schema_evolution_mode"),
    *("rescued_data_column", "options", "on_bad_object", "start_from", "max_files_per_trigger"),
    *("modified_after", "modified_before", "message_columns"),
    *("max_bytes_per_trigger", "large_file_bytes", "max_record_bytes"),
)
_OWN_COLUMNS = ("_headwater_source_key", "_headwater_source_row")
_OF_MERGING = (
    "ordering",
    "changes",
    "complete_when",
    "history",
    "operation",
    "merge_mode",
    "partial_updates",
    "filter_duplicates",
    "concurrency",
)


def iter_derived_problems(table: TableFields) -> Iterator[Problem]:
    """Yield keys that conflict with `from`, or require it."""
    if table.from_ is None:
        for name in ("refresh", "group_key"):
            if getattr(table, name):
                yield (name,), "not applicable without `from`: it sets how a table follows another table"
        return
    yield from iter_joined_problems(table)
    # Ignore keys at their default: a configuration may be written out in full.
    fields = type(table).model_fields
    given = {name for name in table.model_fields_set if getattr(table, name) != fields[name].default}
    for name in _OF_OBJECTS:
        if name in given:
            key = type(table).model_fields[name].alias or name
            yield (
                (key,),
                f"cannot be combined with `from: {table.from_text}`: rows come from tables, not from objects",
            )
    for name in _OF_MERGING:
        if name in given:
            text = "rows always follow the current state of the source"
            yield (name,), f"not applicable with `from: {table.from_text}`: {text}"
    if table.refresh in ("full", "changed_keys") and not table.record_key:
        yield (
            ("record_key",),
            f"missing; `refresh: {table.refresh}` requires the columns that identify a resulting row, such "
            "as those of GROUP BY",
        )
    yield from _iter_key_problems(table)
    yield from _iter_group_problems(table)
    for number, check in enumerate(table.checks, 1):
        if check.is_routing:
            yield (
                ("checks",),
                f"{check.label(number)}: `on_failure: quarantine` applies to records of objects, and these "
                "rows come from a table. Allowed: fail, warn; or filter rows in a transform",
            )


def _iter_key_problems(table: TableFields) -> Iterator[Problem]:
    """Yield a missing key of a table that has none of its own."""
    source = table.from_
    if not isinstance(source, OutsideTable) or table.effective_refresh != "changes":
        return
    if source.format != "hudi" and not source.key:
        yield (
            ("from", "key"),
            f"missing; `refresh: changes` requires the columns that identify a row of the {source.format} "
            "table. Or set `refresh: changed_keys` or `full`",
        )


def _iter_group_problems(table: TableFields) -> Iterator[Problem]:
    """Yield transforms that change or drop group columns: groups of source and result must match."""
    if table.refresh != "changed_keys":
        if table.group_key:
            text = f"not applicable with `refresh: {table.effective_refresh}`; only with changed_keys"
            yield ("group_key",), text
        return
    for name in table.group_key:
        if name.lower().startswith(("_hoodie_", *_OWN_COLUMNS)):
            yield ("group_key",), f"{name!r} is not passed to the transforms; specify another column"
    keys = {name.lower(): name for name in table.effective_group_key}
    for at, step in enumerate(table.transform):
        changed = [*step.rename, *step.rename.values(), *step.cast, *step.drop, *step.hash]
        changed += step.mask.columns if step.mask else ()
        changed += (*step.flatten.columns, *step.flatten.explode) if step.flatten else ()
        kept = {name.lower() for name in step.keep}
        lost = {name.lower() for name in changed} & keys.keys()
        for key in sorted(lost | ((keys.keys() - kept) if kept else set())):
            yield (
                ("transform", at, step.kind),
                f"{keys[key]!r} is in the table's `group_key`, which transforms must not change; keep it "
                "unchanged, or set `refresh: full`",
            )


def iter_order_problems(tables: Mapping[str, TableFields]) -> Iterator[Problem]:
    """Yield tables with an unknown source, or with a cycle."""
    for name, table in tables.items():
        for at, source in enumerate(table.sources):
            path: tuple[str | int, ...] = ("tables", name, "from", *((at,) if table.is_joined else ()))
            if is_outside(source):
                continue
            if source not in tables:
                near = find_nearest(source, (other for other in tables if other != name))
                meant = f" Did you mean {near!r}?" if near else ""
                others = ", ".join(other for other in tables if other != name) or "none"
                yield path, f"unknown table {source!r}.{meant} Other tables: {others}"
            elif source == name:
                yield path, f"{name!r} is the table itself; specify the table to build it from"
            elif way := _find_way(source, name, tables):
                shown = " <- ".join((name, *way))
                yield path, f"the tables form a cycle: {shown}; build one of them from objects"


def order_tables(tables: Mapping[str, TableFields]) -> list[str]:
    """Return the names, each after its sources; otherwise in file order."""
    return sorted(tables, key=lambda name: len(_list_origins(name, tables)))


def _list_origins(name: str, tables: Mapping[str, TableFields]) -> list[str]:
    """Return the table's sources, their sources, and so on, as far as they are in the configuration."""
    found: list[str] = []
    waiting = [name]
    while waiting:
        new = [source for source in tables[waiting.pop(0)].sources if source in tables]
        waiting += [source for source in new if source not in found]
        found += [source for source in dict.fromkeys(new) if source not in found]
    return found


def _find_way(start: str, end: str, tables: Mapping[str, TableFields]) -> list[str]:
    """Return the tables from one to a direct or indirect source of it, both included; empty without one."""
    ways, seen = [[start]], {start}
    while ways:
        way = ways.pop(0)
        if way[-1] == end:
            return way
        for source in tables[way[-1]].sources:
            if source in tables and source not in seen:
                seen.add(source)
                ways.append([*way, source])
    return []

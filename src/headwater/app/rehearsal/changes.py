"""What differs between two configurations, and which tables a rehearsal builds for it. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headwater.app.reload.changes import find_changes
from headwater.config.problems.nearest import find_nearest
from headwater.config.settings import Settings
from headwater.config.table import TableConfig
from headwater.errors import UsageError

Effect = Literal["rows", "selection", "none"]
"""`rows`: new rows differ. `selection`: the table takes other objects. `none`: no row differs."""
TableState = Literal["added", "removed", "changed", "same"]

_SELECTION = frozenset({"source", "path", "prefix", "suffix", "regex", "ignore_prefix", "ignore_substring"})
_NO_ROWS = frozenset(
    {
        "bulk_insert",
        "cdc",
        "clustering",
        "column_stats",
        "compact_after",
        "concurrency",
        "file_sizes",
        "iceberg",
        "indexing",
        "index",
        "keep_commits",
        "keep_file_versions",
        "keep_hours",
        "keep_partition_days",
        "large_file_bytes",
        "max_bytes_per_trigger",
        "max_files_per_trigger",
        "max_pending_clustering",
        "max_pending_compactions",
        "metadata_table",
        "min_sync_interval",
        "services",
        "start_from",
    }
)


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A key of a table with another value in the new file; None is an absent one."""

    key: str
    now: object
    new: object
    effect: Effect


@dataclass(frozen=True, slots=True)
class TableChange:
    """One table in both files."""

    table: str
    state: TableState
    keys: tuple[KeyChange, ...] = ()


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The differences of two files: by table, and changed keys outside of `tables`."""

    tables: tuple[TableChange, ...]
    other_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """The tables of a rehearsal: `compared` ones, and `built` ones, with the sources of derived tables."""

    compared: tuple[str, ...]
    built: tuple[str, ...]


def compare_files(now: Settings, new: Settings) -> FileChanges:
    """Return what differs. Raises `UsageError` for files of two lakes."""
    if now.lake != new.lake:
        raise UsageError(
            f"the files have different lakes: {now.lake} and {new.lake}",
            hint="a rehearsal compares tables of one lake; relative paths belong to the folder of the "
            "current file",
        )
    names = dict.fromkeys((*now.tables, *new.tables))
    changed = find_changes(now, new)
    other = [key for key in (*changed.applicable, *changed.fixed) if not key.startswith("tables.")]
    return FileChanges(
        tuple(_compare(name, now.tables.get(name), new.tables.get(name)) for name in names),
        tuple(sorted(other)),
    )


def _compare(name: str, now: TableConfig | None, new: TableConfig | None) -> TableChange:
    if now is None or new is None:
        return TableChange(name, "added" if now is None else "removed")
    before, after = _dump(now), _dump(new)
    keys = tuple(
        KeyChange(key, before.get(key), after.get(key), _find_effect(key))
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    )
    return TableChange(name, "changed" if keys else "same", keys)


def _dump(config: TableConfig) -> Mapping[str, Any]:
    return config.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _find_effect(key: str) -> Effect:
    if key in _SELECTION:
        return "selection"
    return "none" if key in _NO_ROWS else "rows"


def choose_cast(changes: FileChanges, now: Settings, new: Settings, only: Sequence[str]) -> Cast:
    """Return the tables named, or all that may get other rows, with tables derived from them.

    Raises `UsageError` for unknown tables, and for those that cannot be built from some of their objects.
    """
    known = [change.table for change in changes.tables if change.state != "removed"]
    for name in only:
        if name not in known:
            near = find_nearest(name, known)
            raise UsageError(
                f"there is no table {name} in the new file",
                hint=f"{f'did you mean {near}? ' if near else ''}tables: {', '.join(known)}",
            )
    touched = {change.table for change in changes.tables if _affects_rows(change)}
    for name, config in new.derived_tables.items():
        if touched & set(config.sources):
            touched.add(name)
    compared = tuple(name for name in known if (name in only if only else name in touched))
    built = _add_sources(compared, now, new)
    for settings in (now, new):
        _check_buildable(settings, built)
    return Cast(compared, built)


def _affects_rows(change: TableChange) -> bool:
    return change.state == "added" or any(key.effect != "none" for key in change.keys)


def _add_sources(names: Collection[str], now: Settings, new: Settings) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for name in names:
        for source in _list_sources(name, now, new):
            found |= dict.fromkeys(_add_sources([source], now, new))
        found[name] = None
    return tuple(found)


def _list_sources(name: str, now: Settings, new: Settings) -> Iterator[str]:
    for settings in (now, new):
        if name in settings.tables:
            yield from (source for source in settings.tables[name].sources if source in settings.tables)


def _check_buildable(settings: Settings, names: Sequence[str]) -> None:
    for name in names:
        config = settings.tables.get(name)
        if config is not None and config.complete_when is not None:
            raise UsageError(
                f"table {name} has `complete_when`: a rehearsal reads some of its objects, which are no "
                "complete set",
                hint="restrict the rehearsal to other tables with --table",
            )
        if config is not None and any(source not in settings.tables for source in config.sources):
            raise UsageError(
                f"table {name} is built from a table of another program, of which a rehearsal cannot read "
                "a part",
                hint="restrict the rehearsal to other tables with --table",
            )

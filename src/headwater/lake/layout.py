"""The locations of tables in a lake and their access options. No other module builds paths."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.config.problems.nearest import find_nearest
from headwater.config.table.outside import is_outside
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.config.settings import Settings

OWN_FOLDER = "_headwater"


@dataclass(frozen=True, slots=True)
class TableAddress:
    """A table and its path. `storage_options` are for readers without a JVM; empty for a local folder."""

    name: str
    path: str
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)


def events_path(lake: str) -> str:
    """Return the path of the events table."""
    return _join(lake, OWN_FOLDER, "events")


def quarantine_path(lake: str) -> str:
    """Return the path of the quarantine table."""
    return _join(lake, OWN_FOLDER, "quarantine")


def ledger_path(lake: str) -> str:
    """Return the path of the ledger."""
    return _join(lake, OWN_FOLDER, "ledger")


def tombstones_path(lake: str) -> str:
    """Return the path of the deletes that tables of changes remember."""
    return _join(lake, OWN_FOLDER, "tombstones")


def reconciles_path(lake: str) -> str:
    """Return the path of the table of reconcile results."""
    return _join(lake, OWN_FOLDER, "reconciles")


def event_groups_path(lake: str) -> str:
    """Return the path of the table with which a reconcile begins; it is derived from the events."""
    return _join(lake, OWN_FOLDER, "event_groups")


def chunks_path(lake: str) -> str:
    """Return the path of the chunks table, on which the search index is built."""
    return _join(lake, OWN_FOLDER, "chunks")


def writers_path(lake: str) -> str:
    """Return the folder with the leases of active writers."""
    return _join(lake, OWN_FOLDER, "writers")


def catalog_notes_path(lake: str) -> str:
    """Return the folder with the sync state of tables in catalogs."""
    return _join(lake, OWN_FOLDER, "catalogs")


def iceberg_view_path(lake: str, name: str) -> str:
    """Return the folder with the Iceberg metadata of a data table."""
    return _join(lake, OWN_FOLDER, "iceberg", name)


def restore_path(lake: str) -> str:
    """Return the path of the file that records a restore of the lake."""
    return _join(lake, OWN_FOLDER, "restore.json")


def erasure_path(lake: str) -> str:
    """Return the folder with the suppressed subjects and the reports of erasures."""
    return _join(lake, OWN_FOLDER, "forget")


def trial_path(lake: str, token: str) -> str:
    """Return the path of a table that `doctor` writes and removes."""
    return _join(lake, OWN_FOLDER, f"doctor-{token}")


def scratch_path(lake: str, token: str) -> str:
    """Return the path of a temporary table for trial writes of parts of a failing batch."""
    return _join(lake, OWN_FOLDER, f"scratch-{token}")


def rehearsal_path(lake: str) -> str:
    """Return the folder with the shadows of `headwater rehearse`."""
    return _join(lake, OWN_FOLDER, "rehearsal")


def table_path(lake: str, name: str) -> str:
    """Return the path of a data table."""
    return _join(lake, name)


def find_source_path(lake: str, source: str) -> str:
    """Return the path of the table that a derived table follows: of the lake, or the address of another."""
    return source if is_outside(source) else table_path(lake, source)


def list_tables(settings: "Settings") -> dict[str, str]:
    """Return paths of all tables by their names in commands and SQL, headwater's own tables last."""
    lake = settings.lake
    own = {
        "events": events_path(lake),
        "quarantine": quarantine_path(lake),
        "ledger": ledger_path(lake),
        "reconciles": reconciles_path(lake),
    }
    if any(table.changes for table in settings.tables.values()):
        own["tombstones"] = tombstones_path(lake)
    if settings.search is not None:
        own["chunks"] = chunks_path(lake)
    return {**{name: table_path(lake, name) for name in settings.tables}, **own}


def find_table(settings: "Settings", name: str) -> str:
    """Return the path of a table. Raises `UsageError` with the nearest name for an unknown table."""
    known = list_tables(settings)
    if name in known:
        return known[name]
    near = find_nearest(name, known)
    suggestion = f"did you mean {near}? " if near else ""
    raise UsageError(f"there is no table {name}", hint=f"{suggestion}tables: {', '.join(known)}")


def find_address(settings: "Settings", name: str) -> TableAddress:
    """Return the address of a configured table, or of one of headwater's own (`events`, `ledger`, ...).

    Raises `UsageError` with the nearest name for an unknown table.
    """
    from headwater.lake.storage_options import build_storage_options

    path = find_table(settings, name)
    return TableAddress(name, path, build_storage_options(settings.lake, settings.lake_storage))


def _join(lake: str, *parts: str) -> str:
    return "/".join((lake.rstrip("/"), *parts))

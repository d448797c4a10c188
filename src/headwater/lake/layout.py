"""Where tables lie under a lake, and how they are reached. The only place that knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.config.problems.nearest import find_nearest
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.config.settings import Settings

OWN_FOLDER = "_headwater"


@dataclass(frozen=True, slots=True)
class TableAddress:
    """`storage_options` are those of readers without a JVM; empty for a folder."""

    name: str
    path: str
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)


def events_path(lake: str) -> str:
    """The events table."""
    return _join(lake, OWN_FOLDER, "events")


def quarantine_path(lake: str) -> str:
    """The quarantine table."""
    return _join(lake, OWN_FOLDER, "quarantine")


def ledger_path(lake: str) -> str:
    """The ledger."""
    return _join(lake, OWN_FOLDER, "ledger")


def reconciles_path(lake: str) -> str:
    """What each reconcile found."""
    return _join(lake, OWN_FOLDER, "reconciles")


def chunks_path(lake: str) -> str:
    """The chunks that the index is made of."""
    return _join(lake, OWN_FOLDER, "chunks")


def writers_path(lake: str) -> str:
    """The notices of processes that write tables now."""
    return _join(lake, OWN_FOLDER, "writers")


def catalog_notes_path(lake: str) -> str:
    """What became of the tables in catalogs."""
    return _join(lake, OWN_FOLDER, "catalogs")


def trial_path(lake: str, token: str) -> str:
    """A table that `doctor` writes and removes."""
    return _join(lake, OWN_FOLDER, f"doctor-{token}")


def scratch_path(lake: str, token: str) -> str:
    """A table to which parts of a failing batch are written for a trial; then it is removed."""
    return _join(lake, OWN_FOLDER, f"scratch-{token}")


def table_path(lake: str, name: str) -> str:
    """A data table."""
    return _join(lake, name)


def list_tables(settings: "Settings") -> dict[str, str]:
    """Paths of all tables by the names that commands and SQL know them by, headwater's own last."""
    lake = settings.lake
    own = {
        "events": events_path(lake),
        "quarantine": quarantine_path(lake),
        "ledger": ledger_path(lake),
        "reconciles": reconciles_path(lake),
    }
    if settings.search is not None:
        own["chunks"] = chunks_path(lake)
    return {**{name: table_path(lake, name) for name in settings.tables}, **own}


def find_table(settings: "Settings", name: str) -> str:
    """The path of the table of that name. Raises `UsageError` with the nearest name for an unknown one."""
    known = list_tables(settings)
    if name in known:
        return known[name]
    near = find_nearest(name, known)
    suggestion = f"did you mean {near}? " if near else ""
    raise UsageError(f"there is no table {name}", hint=f"{suggestion}tables: {', '.join(known)}")


def find_address(settings: "Settings", name: str) -> TableAddress:
    """The address of a table of the configuration, or of one of headwater's own (`events`, `ledger`, ...).

    Raises `UsageError` with the nearest name for an unknown one.
    """
    from headwater.lake.s3 import build_storage_options

    path = find_table(settings, name)
    return TableAddress(name, path, build_storage_options(settings.lake, settings.lake_storage))


def _join(lake: str, *parts: str) -> str:
    return "/".join((lake.rstrip("/"), *parts))

"""`Roles`: which parts of a run a process takes on. A lake may have a process for each, on any machine."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from headwater.app.duty import list_served
from headwater.config.settings import Settings
from headwater.errors import UsageError
from headwater.lake.layout import list_tables

Role = Literal["capture", "tables", "services", "index"]
ROLES: tuple[Role, ...] = get_args(Role)

_ALONE: frozenset[Role] = frozenset({"capture", "tables", "index"})
"""Those of a process that runs alone. `services` are those that writers leave to another process."""
_EVENTS = ("events",)
RECONCILES = ("reconciles",)
"""Whoever writes them does what only one of the capturing processes does: reconcile, retries, cleaning."""
_OF_ALL = ("quarantine", "ledger")
_OF_CHANGES = ("tombstones",)
_OF_INDEX = ("chunks",)


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of a process, and the data tables that they apply to: those named, or all of the lake."""

    chosen: frozenset[Role]
    tables: tuple[str, ...]

    @property
    def are_all(self) -> bool:
        """True if the process does everything itself."""
        return self.chosen == _ALONE

    @property
    def fed(self) -> tuple[str, ...]:
        """The data tables that this process brings up to date."""
        return self.tables if "tables" in self.chosen else ()

    @property
    def serves_only(self) -> bool:
        """True if the process only runs table services, next to the writers of the same tables."""
        return self.chosen == {"services"}

    def has(self, role: Role) -> bool:
        """True if the process takes on that role."""
        return role in self.chosen

    def list_written(self, settings: Settings) -> tuple[str, ...]:
        """Return the tables that no other process may write at the same time."""
        if self.are_all:
            own = [name for name in list_tables(settings) if name not in settings.tables]
            return (*self.tables, *own)
        return (
            *(self.tables if self.serves_only else self.fed),
            *(_EVENTS if self.has("capture") and settings.is_watched else ()),
            *(_OF_INDEX if "index" in self.chosen else ()),
        )

    def list_shared(self, settings: Settings) -> tuple[str, ...]:
        """Return the tables that other processes with roles write, too.

        Any number of processes capture from queues. A folder is watched by one, which also receives from the
        queues of the lake.
        """
        if self.are_all:
            return ()
        return (
            *(_EVENTS if self.has("capture") and not settings.is_watched else ()),
            *(_OF_ALL if self.chosen & {"capture", "tables"} else ()),
            *(_OF_CHANGES if any(settings.tables[name].changes for name in self.fed) else ()),
        )

    def describe(self) -> str:
        """Return the command of a process with these roles."""
        options = () if self.are_all else (f" --only {role}" for role in ROLES if role in self.chosen)
        return "run" + "".join(options)


def choose_roles(settings: Settings, only: Collection[Role] = (), tables: Sequence[str] = ()) -> Roles:
    """Return the roles named by `only`, of the tables named; all of a process alone unless any is named.

    Raises `UsageError` for roles without work.
    """
    if tables and only and not {"tables", "services"} & set(only):
        raise UsageError(
            f"--table restricts tables and services, not {' and '.join(sorted(only))}",
            hint="add `--only tables`, or omit --table",
        )
    if "services" in only and len(set(only)) > 1:
        raise UsageError(
            "table services run in a process of their own, so that they can be restarted without the writers",
            hint="start another process: headwater run --only services",
        )
    if "index" in only and settings.search is None:
        raise UsageError("there is nothing to index", hint="add `search` to the configuration")
    chosen = frozenset(only) or _ALONE
    known = list_served(settings, tables) if chosen == {"services"} else list(tables or settings.tables)
    return Roles(chosen, tuple(known))

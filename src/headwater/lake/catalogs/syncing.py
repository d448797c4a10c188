"""Syncs one table to one catalog: read both, plan, apply."""

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.lake.catalogs.catalog_table import CatalogTable
from headwater.lake.catalogs.entries import EntryRules, build_entries
from headwater.lake.catalogs.planning import TableChange, plan_change
from headwater.lake.catalogs.protocol import Catalog
from headwater.lake.catalogs.table_state import TableState


@dataclass(frozen=True, slots=True)
class TablePlan:
    """The changes that a catalog needs for each entry of a table. `completed` is the commit that was read."""

    completed: str
    changes: tuple[TableChange, ...]

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to send."""
        return all(change.is_empty for change in self.changes)


def plan_table(catalog: Catalog, state: TableState, rules: EntryRules) -> TablePlan:
    """Plan the changes for all entries of a table. Raises `CatalogError`."""
    entries = build_entries(state, rules)
    return TablePlan(state.completed, tuple(plan_entry(catalog, entry) for entry in entries))


def plan_entry(catalog: Catalog, entry: CatalogTable) -> TableChange:
    """Plan the change for one entry. Raises `CatalogError`."""
    wanted = catalog.narrow(entry)
    return plan_change(catalog.read(entry.name), wanted)


def apply_plan(catalog: Catalog, changes: Sequence[TableChange]) -> None:
    """Apply the changes. Raises `CatalogError`; changes that were already sent persist."""
    for change in changes:
        catalog.apply(change)

"""An in-process catalog for tests and for trials without a server."""

from dataclasses import replace

from headwater.lake.catalogs.catalog_table import CatalogTable
from headwater.lake.catalogs.planning import TableChange


class MemoryCatalog:
    """A catalog in memory; `applied` lists the non-empty changes in order. See `Catalog`."""

    def __init__(self) -> None:
        self._tables: dict[str, CatalogTable] = {}
        self.applied: list[TableChange] = []

    def narrow(self, entry: CatalogTable) -> CatalogTable:
        """See `Catalog`."""
        return replace(entry, files=None)

    def read(self, name: str) -> CatalogTable | None:
        """See `Catalog`."""
        return self._tables.get(name)

    def apply(self, change: TableChange) -> None:
        """See `Catalog`."""
        if change.is_empty:
            return
        self.applied.append(change)
        held = self._tables.get(change.table.name)
        partitions = dict(held.partitions) if held else {}
        partitions |= {**change.added, **change.moved}
        kept = {values: location for values, location in partitions.items() if values not in change.dropped}
        self._tables[change.table.name] = replace(change.table, partitions=kept)

    def close(self) -> None:
        """See `Catalog`."""

"""The contract of a catalog: where query engines look up which tables there are."""

from typing import Protocol

from headwater.lake.catalogs.catalog_table import CatalogTable
from headwater.lake.catalogs.planning import TableChange


class Catalog(Protocol):
    """One database of one catalog. Not for several threads at a time.

    Every method raises `CatalogUnavailableError` (try again later) when the catalog does not answer, and
    `CatalogError` when it refuses. No row is ever touched: the table's files are not the catalog's.
    """

    def narrow(self, entry: CatalogTable) -> CatalogTable:
        """What of an entry the catalog can hold, in its own words: that is what `read` gives of it, and what
        changes are planned towards. Asks nothing of the catalog. Raises `CatalogError` for an entry that it
        cannot hold."""
        ...

    def read(self, name: str) -> CatalogTable | None:
        """The table of that name, with all of its partitions; None for none, or when there is no such
        database."""
        ...

    def apply(self, change: TableChange) -> None:
        """Do what the change says; an empty one sends nothing.

        Makes the database, too, where that is configured. Partitions that are there or gone already are
        fine. May stop half-way when it raises: the next plan says what is left. What others have written of
        the table (a description, comments, properties) stays.
        """
        ...

    def close(self) -> None:
        """Free connections. Idempotent."""
        ...

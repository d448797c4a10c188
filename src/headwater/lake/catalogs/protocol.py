"""The contract of a catalog, in which query engines look up tables."""

from typing import Protocol

from headwater.lake.catalogs.catalog_table import CatalogTable
from headwater.lake.catalogs.planning import TableChange


class Catalog(Protocol):
    """One database of one catalog. Not thread-safe.

    Every method raises `CatalogUnavailableError` (retry later) if the catalog does not answer, and
    `CatalogError` if it rejects a request. Methods never change rows or the table's files.
    """

    def narrow(self, entry: CatalogTable) -> CatalogTable:
        """Return the entry as the catalog can store it, in its own notation.

        `read` returns this form, and changes are planned towards it. Sends no request. Raises `CatalogError`
        for an entry that the catalog cannot store.
        """
        ...

    def read(self, name: str) -> CatalogTable | None:
        """Return the table of that name with all partitions, or None if it does not exist."""
        ...

    def apply(self, change: TableChange) -> None:
        """Apply the change; an empty change sends nothing.

        Also creates the database if so configured. Idempotent for partitions. A failure may leave the change
        half applied; the next plan holds the rest. Descriptions, comments and properties of others are kept.
        """
        ...

    def close(self) -> None:
        """Close connections. Idempotent."""
        ...

"""Data tables made known to catalogs, by hand and beside a run."""

from headwater.app.catalogs.loop import CatalogLoop
from headwater.app.catalogs.sync import CatalogSync, TableSync

__all__ = ["CatalogLoop", "CatalogSync", "TableSync"]

"""Syncs data tables to catalogs, on demand and during a run."""

from headwater.app.catalogs.loop import CatalogLoop
from headwater.app.catalogs.sync import CatalogSync, TableSync

__all__ = ["CatalogLoop", "CatalogSync", "TableSync"]

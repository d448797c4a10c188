"""`catalogs:` where query engines find the tables."""

from headwater.config.catalogs.catalog import CatalogConfig, CatalogType, OwnTable, iter_catalog_problems

__all__ = ["CatalogConfig", "CatalogType", "OwnTable", "iter_catalog_problems"]

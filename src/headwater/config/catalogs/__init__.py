"""`catalogs:` where query engines look up the tables."""

from headwater.config.catalogs.catalog import CatalogConfig, CatalogType, iter_catalog_problems

__all__ = ["CatalogConfig", "CatalogType", "iter_catalog_problems"]

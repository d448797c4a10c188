"""Catalogs: where query engines look up which tables there are."""

from headwater.config.catalogs import CatalogConfig
from headwater.config.environment import read_environment
from headwater.lake.catalogs.protocol import Catalog


def build_catalog(config: CatalogConfig) -> Catalog:
    """The catalog of a section of the configuration; nothing is asked of it yet."""
    if config.type == "glue":
        from headwater.lake.catalogs.glue import GlueCatalog

        return GlueCatalog(config)
    if config.type == "datahub":
        from headwater.lake.catalogs.datahub import TOKEN_VARIABLE, DataHubCatalog

        return DataHubCatalog(config, read_environment().get(TOKEN_VARIABLE, ""))
    from headwater.lake.catalogs.hive_metastore import HiveCatalog

    return HiveCatalog(config)

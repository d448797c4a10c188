"""Catalogs: where query engines look up which tables there are."""

from headwater.config.catalogs import CatalogConfig
from headwater.config.environment import read_environment
from headwater.errors import PlatformError
from headwater.lake.catalogs.protocol import Catalog


def build_catalog(config: CatalogConfig) -> Catalog:
    """The catalog of a section of the configuration; nothing is asked of it yet.

    Raises `PlatformError` for a package that is not installed, `CredentialsError` for no credentials.
    """
    if config.type == "glue":
        from headwater.lake.catalogs.glue import GlueCatalog

        return GlueCatalog(config)
    if config.type == "datahub":
        from headwater.lake.catalogs.datahub import TOKEN_VARIABLE, DataHubCatalog

        return DataHubCatalog(config, read_environment().get(TOKEN_VARIABLE, ""))
    if config.type == "bigquery":
        return _build_bigquery(config)
    from headwater.lake.catalogs.hive.metastore import HiveCatalog

    return HiveCatalog(config)


def _build_bigquery(config: CatalogConfig) -> Catalog:
    try:
        from headwater.lake.catalogs.bigquery.catalog import BigQueryCatalog
    except ImportError as error:
        raise PlatformError(
            "`type: bigquery` needs google-cloud-bigquery, which is not installed",
            hint="pip install 'headwater[bigquery]'",
        ) from error
    return BigQueryCatalog(config)

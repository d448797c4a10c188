"""Catalogs: where query engines look up which tables there are."""

from headwater.config.catalogs import CatalogConfig
from headwater.config.catalogs.hive_address import parse_hive_address
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
    if parse_hive_address(str(config.address)).is_server:
        return _build_hive_server(config)
    from headwater.lake.catalogs.hive.metastore import HiveMetastoreCatalog

    return HiveMetastoreCatalog(config)


def _build_hive_server(config: CatalogConfig) -> Catalog:
    try:
        from headwater.lake.catalogs.hive.server import PASSWORD_VARIABLE, HiveServerCatalog
    except ImportError as error:
        raise PlatformError(
            "an `address` at HiveServer2 needs impyla, which is not installed",
            hint="pip install 'headwater[hiveserver2]', or give the metastore's own address, `thrift://...`",
        ) from error
    return HiveServerCatalog(config, read_environment().get(PASSWORD_VARIABLE, ""))


def _build_bigquery(config: CatalogConfig) -> Catalog:
    try:
        from headwater.lake.catalogs.bigquery.catalog import BigQueryCatalog
    except ImportError as error:
        raise PlatformError(
            "`type: bigquery` needs google-cloud-bigquery, which is not installed",
            hint="pip install 'headwater[bigquery]'",
        ) from error
    return BigQueryCatalog(config)

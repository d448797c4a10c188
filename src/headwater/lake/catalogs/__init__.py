"""Catalogs, in which query engines look up tables."""

from headwater.config.catalogs import CatalogConfig
from headwater.config.catalogs.hive_address import parse_hive_address
from headwater.config.environment import read_environment
from headwater.config.extras.packages import importing_extra
from headwater.lake.catalogs.protocol import Catalog


def build_catalog(config: CatalogConfig) -> Catalog:
    """Build the catalog of a configuration section without sending a request.

    Raises `MissingExtraError` if a package is not installed, `CredentialsError` if credentials are missing.
    """
    if config.type == "glue":
        from headwater.lake.catalogs.glue import GlueCatalog

        return GlueCatalog(config)
    if config.type == "datahub":
        with importing_extra("datahub", "`type: datahub`"):
            from headwater.lake.catalogs.datahub import TOKEN_VARIABLE, DataHubCatalog

        return DataHubCatalog(config, read_environment().get(TOKEN_VARIABLE, ""))
    if config.type == "bigquery":
        with importing_extra("bigquery", "`type: bigquery`"):
            from headwater.lake.catalogs.bigquery.catalog import BigQueryCatalog

        return BigQueryCatalog(config)
    if parse_hive_address(str(config.address)).is_server:
        with importing_extra("hiveserver2", "an `address` at HiveServer2"):
            from headwater.lake.catalogs.hive.server import PASSWORD_VARIABLE, HiveServerCatalog

        return HiveServerCatalog(config, read_environment().get(PASSWORD_VARIABLE, ""))
    with importing_extra("hive", "an `address` at a metastore"):
        from headwater.lake.catalogs.hive.metastore import HiveMetastoreCatalog

    return HiveMetastoreCatalog(config)

"""Opens the source tables of a derived table, each by its format."""

from pyspark.sql import SparkSession

from headwater.config.table import TableConfig
from headwater.lake.layout import find_source_path
from headwater.lake.other_formats.delta import DeltaTable
from headwater.lake.other_formats.iceberg import IcebergTable
from headwater.lake.table import Table
from headwater.medallion.source_tables.hudi import HudiSource
from headwater.medallion.source_tables.protocol import SourceTable
from headwater.medallion.source_tables.versioned import VersionedSource


def open_sources(spark: SparkSession, lake: str, config: TableConfig) -> dict[str, SourceTable]:
    """Return the source tables of a derived table by their names or addresses. Reads nothing."""
    return {source: _open_source(spark, lake, config, source) for source in config.sources}


def _open_source(spark: SparkSession, lake: str, config: TableConfig, source: str) -> SourceTable:
    path = find_source_path(lake, source)
    table_format = config.find_format(source)
    if table_format == "hudi":
        return HudiSource(source, Table(spark, path))
    table = DeltaTable(spark, path) if table_format == "delta" else IcebergTable(spark, path)
    return VersionedSource(table, config.outside_tables[source].key)

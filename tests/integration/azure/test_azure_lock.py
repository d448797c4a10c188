"""A lock in Data Lake Storage, which rejects the creation of a file that exists."""

import pytest
from pyspark.sql import SparkSession

from headwater.config.hudi.lock import LockConfig
from headwater.config.settings import Settings
from tests.fixtures.azure import DataLake
from tests.fixtures.tables.concurrent_writers import write_concurrently

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_two_writers_of_the_same_files_lose_nothing(spark: SparkSession, data_lake: DataLake) -> None:
    lake = data_lake.create_lake()
    source = {"type": "local", "path": "in"}
    sections = {"lake_storage": {"endpoint": data_lake.endpoint}, "tables": {"t": {"path": "*.json"}}}
    data_lake.connect(spark, Settings.model_validate({"source": source, "lake": lake, **sections}))
    write_concurrently(spark, f"{lake}/t", LockConfig(provider="file_system"))

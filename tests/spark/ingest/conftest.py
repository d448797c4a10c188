"""What all tests of ingest on real Spark and Hudi start from."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.fixtures.folder_lake import FolderLake


@pytest.fixture
def build(spark: SparkSession, tmp_path: Path) -> Callable[..., FolderLake]:
    return lambda **tables: FolderLake(spark, tmp_path, **tables)

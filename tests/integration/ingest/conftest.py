"""Pipelines over buckets of the emulator, with real Spark and Hudi."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.demo.emulator import CREDENTIALS
from tests.fixtures.bucket_lake import BucketLake
from tests.fixtures.emulator import EmulatorSession


@pytest.fixture
def build(
    spark: SparkSession, emulator: EmulatorSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., BucketLake]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
        # Executors are children of the JVM, which may have been started without them.
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    return lambda **given: BucketLake(spark, emulator, tmp_path, **given)

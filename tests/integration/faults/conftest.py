"""Spark's Python workers use the emulator's credentials, too."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from headwater.demo.emulator import CREDENTIALS


@pytest.fixture(scope="module")
def credentials(spark: SparkSession) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
            # Executors are children of the JVM, which may have been started without them.
            patch.setitem(spark.sparkContext.environment, name, value)
        yield

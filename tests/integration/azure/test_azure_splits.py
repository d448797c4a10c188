"""Large blobs of Azure: read in splits, they become the same rows as read whole.

The DFS endpoint is the double of `tests.fixtures.servers.data_lake`.
"""

import itertools
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.sources.object_event import ObjectEvent, build_order_key
from tests.fixtures.azure import Container, DataLake, RunningAzurite
from tests.fixtures.end_to_end.azure_pipeline import AzurePipeline
from tests.fixtures.end_to_end.split_cases import COUNT, JSON, ODD_KEYS, SplitCases, SplitLake

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

# The service takes a backslash for a slash.
KEYS = tuple(key for key in ODD_KEYS if "\\" not in key)


def build_source(container: Container, data_lake: DataLake) -> dict[str, Any]:
    return {**container.source, "endpoint": data_lake.endpoint, "file_system_scheme": "abfss"}


class AzureLake(SplitLake):
    """A local lake over a container."""

    def __init__(
        self, spark: SparkSession, container: Container, source: dict[str, Any], folder: Path, **tables: Any
    ) -> None:
        super().__init__(spark, folder, source, tables)
        self._container = container
        self._sequencers = itertools.count(1)

    def put(self, key: str, text: str) -> ObjectEvent:
        """Write a blob; return the event that names it."""
        etag = self._container.put(key, text.encode())
        sequencer = f"{next(self._sequencers):032x}"
        return ObjectEvent(
            provider="azure",
            bucket=self._container.name,
            key=key,
            version_id=None,
            sequencer=sequencer,
            order_key=build_order_key(sequencer),
            kind="created",
            event_name="Microsoft.Storage.BlobCreated",
            event_time=datetime.now(timezone.utc),
            size=len(text.encode()),
            etag=etag,
        )


@pytest.fixture
def build(
    spark: SparkSession, container: Container, data_lake: DataLake, tmp_path: Path
) -> Iterator[Callable[..., AzureLake]]:
    source = build_source(container, data_lake)

    def build_lake(**tables: Any) -> AzureLake:
        lake = AzureLake(spark, container, source, tmp_path, **tables)
        data_lake.connect(spark, lake.settings)
        return lake

    spark.conf.set("spark.sql.files.maxPartitionBytes", "65536")
    yield build_lake
    spark.conf.unset("spark.sql.files.maxPartitionBytes")


class TestAzureSplits(SplitCases):
    """What every cloud's splits do."""

    odd_keys = KEYS
    no_paths = ("a//b.json", "_hidden.json")


def test_a_run_needs_only_the_scheme(azurite: RunningAzurite, data_lake: DataLake, tmp_path: Path) -> None:
    container = azurite.create_container(notifies=True)
    pipeline = AzurePipeline(
        container, tmp_path / "work", {"big": {"path": "**/*.json", "large_file_bytes": "1kb"}}
    )
    pipeline.config["source"] |= build_source(container, data_lake)
    pipeline.write_config()
    pipeline.put_all(dict.fromkeys(("big.json", *KEYS), JSON))
    run = pipeline.run_once(timeout=400).expect(0)
    assert "is read whole" not in run.stderr
    assert pipeline.rows("big", "n") == {(n,): 1 + len(KEYS) for n in range(COUNT)}
    assert any("big.json" in asked for asked in data_lake.double.asked)

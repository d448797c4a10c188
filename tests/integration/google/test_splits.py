"""Large objects in Cloud Storage: read in splits, they become the same rows as read whole."""

from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.sources.object_event import ObjectEvent, build_order_key
from tests.fixtures.end_to_end.gcs_pipeline import GcsPipeline
from tests.fixtures.end_to_end.split_cases import COUNT, JSON, ODD_KEYS, SplitCases, SplitLake
from tests.fixtures.google import PubSub, Storage, open_storage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


class GcsLake(SplitLake):
    """A local lake over a bucket of Cloud Storage."""

    def __init__(self, spark: SparkSession, storage: Storage, folder: Path, **tables: Any) -> None:
        source = {
            "type": "gcs",
            "bucket": storage.bucket,
            "endpoint": storage.endpoint,
            "file_system_scheme": "gs",
        }
        super().__init__(spark, folder, source, tables)
        self._storage = storage

    def put(self, key: str, text: str) -> ObjectEvent:
        """Write an object; return the event that names it."""
        blob = self._storage.put(key, text.encode())
        generation = str(blob.generation)
        return ObjectEvent(
            provider="gcs",
            bucket=self._storage.bucket,
            key=key,
            version_id=generation,
            sequencer=generation,
            order_key=build_order_key(generation),
            kind="created",
            event_name="OBJECT_FINALIZE",
            event_time=datetime.now(timezone.utc),
            size=len(text.encode()),
            etag=generation,
        )


@pytest.fixture
def build(spark: SparkSession, gcs: Storage, tmp_path: Path) -> Iterator[Callable[..., GcsLake]]:
    # A run has these from `build_spark_settings`; the server of this test started after the session.
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.gs.storage.root.url", f"{gcs.endpoint}/")
    hadoop.set("fs.gs.auth.service.account.enable", "false")
    hadoop.set("fs.gs.auth.null.enable", "true")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "65536")
    yield lambda **tables: GcsLake(spark, gcs, tmp_path, **tables)
    spark.conf.unset("spark.sql.files.maxPartitionBytes")


class TestGcsSplits(SplitCases):
    """What every cloud's splits do."""


def test_a_run_needs_only_the_scheme(pubsub: PubSub, tmp_path: Path) -> None:
    with open_storage(tmp_path, pubsub) as storage:
        table = {"path": "**/*.json", "large_file_bytes": "1kb"}
        pipeline = GcsPipeline(storage, pubsub, tmp_path / "work", {"big": table})
        pipeline.config["source"]["file_system_scheme"] = "gs"
        pipeline.write_config()
        pipeline.put_all(dict.fromkeys(("big.json", *ODD_KEYS), JSON))
        run = pipeline.run_once(timeout=400).expect(0)
        assert "is read whole" not in run.stderr
        assert pipeline.rows("big", "n") == {(n,): 1 + len(ODD_KEYS) for n in range(COUNT)}

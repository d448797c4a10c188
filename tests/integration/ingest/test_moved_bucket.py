"""A bucket whose objects were moved to another one: refused, then followed under their former identity."""

import json
import threading
from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.lake_identity import ensure_usable_lake
from headwater.app.objects.verify import Verify
from headwater.app.run import Run
from headwater.errors import UsageError
from tests.fixtures.bucket_lake import BucketLake
from tests.fixtures.emulator import EmulatorSession

pytestmark = pytest.mark.slow

TABLES = {
    "mirrored": {"path": "**/*.json", "mode": "mirror"},
    "added": {"path": "**/*.json", "mode": "append"},
}


def test_moved_objects_are_neither_lost_nor_doubled(
    build: Callable[..., BucketLake], spark: SparkSession, emulator: EmulatorSession
) -> None:
    lake = build(versioned=False, **TABLES)

    def run_once() -> None:
        report = Run(App(lake.settings, spark=spark)).once(threading.Event())
        assert not report.failures
        assert report.component_failures == {}

    def put(bucket: str, key: str, name: str) -> None:
        lake.s3.put_object(Bucket=bucket, Key=key, Body=json.dumps({"id": name}).encode())

    for key in ("a.json", "b.json", "c.json"):
        put(lake.bucket, key, key)
    run_once()
    expected = [("a.json",), ("b.json",), ("c.json",)]
    assert lake.rows("mirrored", "id") == lake.rows("added", "id") == expected

    zone = emulator.create_landing_zone(versioned=False)
    for key in ("a.json", "b.json", "c.json"):
        put(zone.bucket, key, key)
    source = lake.settings.sources[0].model_dump(exclude_unset=True)
    moved = {**source, "bucket": zone.bucket, "queue": {"url": zone.queue_url}}

    def use(**keys: str) -> None:
        given = {"source": {**moved, **keys}, "lake": lake.lake, "tables": TABLES}
        lake.settings = type(lake.settings).model_validate(given)

    use()
    with pytest.raises(UsageError, match=f"from the bucket {lake.bucket}"):
        ensure_usable_lake(lake.settings)
    use(moved_from=lake.bucket)
    ensure_usable_lake(lake.settings)
    put(zone.bucket, "a.json", "new")
    put(zone.bucket, "d.json", "d.json")
    lake.s3.delete_object(Bucket=zone.bucket, Key="c.json")
    run_once()
    assert lake.rows("mirrored", "id") == [("b.json",), ("d.json",), ("new",)]
    assert {"new", "d.json", "a.json", "b.json", "c.json"} == {row[0] for row in lake.rows("added", "id")}
    report = Verify(App(lake.settings, spark=spark)).run()
    assert report.tables["mirrored"].is_complete, report.tables["mirrored"].problems
    assert report.tables["added"].outside.rows == 0

"""`clean_source` on a bucket: its own removals come back through the queue and change no table."""

import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.cleaning import CleanReport, CleanSource
from headwater.app.components import RunReport
from headwater.app.objects.verify import Verify
from headwater.app.run import Run
from headwater.config.settings import Settings
from tests.fixtures.bucket_lake import BucketLake
from tests.fixtures.waiting import wait_until

TABLES = {
    "mirrored": {"path": "**/*.json", "mode": "mirror"},
    "merged": {"path": "in/*.json", "record_key": "id"},
}


class CleanBucket:
    """A bucket that is cleaned, its queue, and whole runs over both."""

    def __init__(self, lake: BucketLake, spark: SparkSession, **source: object) -> None:
        self.lake = lake
        self.s3: Any = lake.s3
        self._spark = spark
        plain = lake.settings.model_dump(by_alias=True, exclude_unset=True)
        plain["source"] |= {"clean_source": "delete", "clean_source_delay": "1 hour", **source}
        self.settings = lake.settings = Settings.model_validate(plain)

    @property
    def app(self) -> App:
        return App(self.settings, spark=self._spark)

    def put(self, key: str, number: int) -> None:
        self.s3.put_object(Bucket=self.lake.bucket, Key=key, Body=f'{{"id": {number}}}\n'.encode())

    def remove(self, key: str) -> None:
        self.s3.delete_object(Bucket=self.lake.bucket, Key=key)

    def run(self) -> RunReport:
        """One run to its end, when the queue has heard of everything that was done."""
        report = Run(self.app).once(threading.Event())
        assert report.failures == {}
        assert report.component_failures == {}
        return report

    def clean(self) -> CleanReport:
        now = datetime.now(timezone.utc) + timedelta(hours=2)
        return CleanSource(self.app, self.app.settings.sources[0], now=lambda: now).run_pass(
            threading.Event()
        )

    def keys(self) -> set[str]:
        listed = self.s3.list_objects_v2(Bucket=self.lake.bucket)
        return {found["Key"] for found in listed.get("Contents", ())}

    def wait_for_removals(self, count: int) -> None:
        """Until the events table has so many that the bucket itself told of."""

        def has_them() -> bool:
            self.run()
            return self.count_events()["removed"] >= count

        wait_until(has_them, "removals heard of", 60)

    def count_events(self) -> Counter[str]:
        events = self.app.events.read_snapshot()
        assert events is not None
        reported = events.where("source = 'notification'").select("kind").collect()
        return Counter(row["kind"] for row in reported)

    def ids(self) -> list[int]:
        return [row[0] for row in self.lake.rows("mirrored", "id")]


@pytest.fixture(params=[False, True], ids=["unversioned", "versioned"])
def versioned(request: pytest.FixtureRequest) -> bool:
    found: bool = request.param
    return found


@pytest.mark.long
def test_own_removals_come_back_through_the_queue_and_change_nothing(
    build: Callable[..., BucketLake], spark: SparkSession, *, versioned: bool
) -> None:
    bucket = CleanBucket(build(versioned=versioned, **TABLES), spark)
    for number, key in enumerate(("in/a.json", "in/b.json", "other/c.json")):
        bucket.put(key, number)
    report = bucket.run()
    (clean,) = report.cleans
    assert clean.objects == {"too_young": 3}
    assert bucket.clean().results == {"cleaned": 3}
    assert bucket.keys() == set()

    bucket.wait_for_removals(3)
    assert bucket.ids() == [0, 1, 2]
    assert bucket.lake.rows("merged", "id") == [(0,), (1,)]
    verified = Verify(bucket.app).run()
    assert verified.is_complete
    assert verified.tables["mirrored"].counts.reasons == {"cleaned": 3}

    bucket.put("in/a.json", 7)
    bucket.run()
    assert bucket.ids() == [1, 2, 7]
    bucket.remove("in/a.json")
    bucket.wait_for_removals(4)
    assert bucket.ids() == [1, 2]
    assert bucket.lake.rows("merged", "id") == [(0,), (1,), (7,)]
    assert Verify(bucket.app).run().is_complete


@pytest.mark.long
def test_a_tagged_object_may_be_removed_by_a_rule_of_the_bucket(
    build: Callable[..., BucketLake], spark: SparkSession
) -> None:
    tags = {"clean_source": "tag", "clean_source_delay": 0, "clean_source_tags": {"state": "in"}}
    bucket = CleanBucket(build(versioned=False, **TABLES), spark, **tags)
    bucket.put("in/a.json", 1)
    first = bucket.run()
    (clean,) = first.cleans
    assert clean.results == {"cleaned": 1}
    found = bucket.s3.get_object_tagging(Bucket=bucket.lake.bucket, Key="in/a.json")["TagSet"]
    assert found == [{"Key": "state", "Value": "in"}]
    second = bucket.run()
    (clean,) = second.cleans
    assert (clean.objects, clean.results) == ({"done": 1}, {})
    bucket.remove("in/a.json")
    bucket.wait_for_removals(1)
    assert bucket.ids() == [1]
    assert Verify(bucket.app).run().is_complete

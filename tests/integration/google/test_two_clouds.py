"""A bucket of S3 and one of Cloud Storage in one lake: the same keys, changed in one cloud at a time."""

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.gcs_pipeline import GcsPipeline
from tests.fixtures.end_to_end.pipeline import Pipeline
from tests.fixtures.google import PubSub, open_storage

SCHEMA = {"path": "**/*.json", "mode": "mirror", "schema": "cloud string, n bigint"}
TABLES = {"both": SCHEMA, "google_only": {**SCHEMA, "source": "google"}}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


class Clouds:
    """The lake is that of the bucket in S3, whose configuration names the other bucket, too."""

    def __init__(self, aws: Pipeline, google: GcsPipeline) -> None:
        self.product = aws
        self._clouds: dict[str, Pipeline | GcsPipeline] = {"aws": aws, "google": google}
        self.held_seconds = google.held_seconds
        sources = {"aws": aws.config["source"], "google": google.config["source"]}
        aws.config["source"] = [{"name": name, **source} for name, source in sources.items()]
        aws.environ = {**os.environ, **aws.environ}
        aws.write_config()

    def put(self, cloud: str, key: str, *numbers: int) -> None:
        rows = [json.dumps({"cloud": cloud, "n": number}) for number in numbers]
        self._clouds[cloud].put(key, "\n".join(rows))

    def remove(self, cloud: str, key: str) -> None:
        self._clouds[cloud].remove(key)

    def rows(self, table: str) -> Counter[tuple[str, int]]:
        return self.product.rows(table, "cloud", "n")


@pytest.fixture
def clouds(emulator: EmulatorSession, pubsub: PubSub, tmp_path: Path) -> Iterator[Clouds]:
    with open_storage(tmp_path, pubsub) as storage:
        aws = Pipeline(emulator, tmp_path / "aws", TABLES)
        yield Clouds(aws, GcsPipeline(storage, pubsub, tmp_path / "google", TABLES))


def test_tables_follow_both_clouds_each_on_its_own(clouds: Clouds) -> None:
    for at, cloud in enumerate(("aws", "google")):
        clouds.put(cloud, "in/a.json", at, 10 + at)
        clouds.put(cloud, "in/b.json", 20 + at)
    clouds.product.run_once().expect(0)
    google = Counter({("google", 1): 1, ("google", 11): 1, ("google", 21): 1})
    assert clouds.rows("google_only") == google
    assert clouds.rows("both") == google + Counter({("aws", 0): 1, ("aws", 10): 1, ("aws", 20): 1})

    clouds.put("aws", "in/a.json", 30)
    clouds.remove("google", "in/b.json")
    killed = clouds.product.run_once(crash_point="before_data_commit")
    assert killed.was_killed, killed.stderr
    time.sleep(clouds.held_seconds)
    clouds.product.run_once().expect(0)
    google = Counter({("google", 1): 1, ("google", 11): 1})
    assert clouds.rows("google_only") == google
    assert clouds.rows("both") == google + Counter({("aws", 30): 1, ("aws", 20): 1})
    clouds.product.command("verify", "--deep", timeout=180).expect(0)

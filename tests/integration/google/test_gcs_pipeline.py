"""A bucket of Cloud Storage with Pub/Sub through the whole product, against a plain reading of the bucket."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.end_to_end.cloud_cases import TABLES, CloudCases, ingest_everything, kill_everywhere
from tests.fixtures.end_to_end.gcs_pipeline import GcsPipeline
from tests.fixtures.google import PubSub, open_storage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def pipeline(pubsub: PubSub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GcsPipeline]:
    folder = tmp_path_factory.mktemp("gcs")
    with open_storage(folder, pubsub) as storage:
        found = GcsPipeline(storage, pubsub, folder / "work", TABLES)
        ingest_everything(found)
        yield found


class TestGcsPipeline(CloudCases):
    """What every cloud's pipeline does."""


def test_status_and_doctor_know_the_subscription(pipeline: GcsPipeline) -> None:
    assert pipeline.read_json("status")["queue"] == {"visible": None, "in_flight": None, "error": None}
    doctor = pipeline.command("doctor", timeout=120)
    assert "source.subscription" in doctor.stdout
    assert pipeline.config["source"]["subscription"] in doctor.stdout


def test_a_missing_subscription_is_named(pipeline: GcsPipeline) -> None:
    missing = pipeline.command("--set", "source.subscription=nothing-there", "run", "--once", timeout=120)
    missing.expect(1)
    assert "subscription projects/acme-test/subscriptions/nothing-there does not exist" in missing.stderr
    assert "source.subscription" in missing.stderr


def test_killed_anywhere_nothing_is_lost_and_nothing_is_twice(pubsub: PubSub, tmp_path: Path) -> None:
    with open_storage(tmp_path, pubsub) as storage:
        kill_everywhere(GcsPipeline(storage, pubsub, tmp_path / "work", TABLES))

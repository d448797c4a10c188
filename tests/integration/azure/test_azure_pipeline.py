"""A container of Azure with a storage queue through the whole product, against a plain reading of it."""

from pathlib import Path

import pytest

from tests.fixtures.azure import RunningAzurite
from tests.fixtures.end_to_end.azure_pipeline import AzurePipeline
from tests.fixtures.end_to_end.cloud_cases import (
    TABLES,
    CloudCases,
    assert_table_equals_objects,
    ingest_everything,
    kill_everywhere,
    to_lines,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def pipeline(azurite: RunningAzurite, tmp_path_factory: pytest.TempPathFactory) -> AzurePipeline:
    folder = tmp_path_factory.mktemp("azure")
    found = AzurePipeline(azurite.create_container(notifies=True), folder, TABLES)
    ingest_everything(found)
    return found


class TestAzurePipeline(CloudCases):
    """What every cloud's pipeline does."""


def test_a_blob_with_another_etag_than_its_event_is_read(pipeline: AzurePipeline) -> None:
    # Setting metadata changes the etag, and sends no event.
    for key in ("clicks/tagged.json", "orders/tagged.json", "shop/tagged.json"):
        row = {"id": 70_000, "ts": 1, "page": "x", "product": 70_000, "n": 1}
        pipeline.put(key, to_lines(row))
        blob = pipeline.container.client.get_blob_client(pipeline.bucket, key)
        blob.set_blob_metadata({"team": "data"})
    pipeline.run_once()
    assert pipeline.rows("clicks", "id")[(70_000,)] == 1
    assert pipeline.rows("orders", "id")[(70_000,)] == 1
    assert pipeline.rows("shop", "product")[(70_000,)] == 1


def test_a_renamed_folder_moves_its_rows(pipeline: AzurePipeline) -> None:
    pipeline.put_all({f"clicks/here/{n}.json": to_lines({"id": n, "page": "moved"}) for n in range(5)})
    pipeline.put_all({f"shop/{n}.json": to_lines({"product": n, "n": -5}) for n in range(3)})
    pipeline.run_once()
    pipeline.container.rename_folder("shop", "shop2")
    pipeline.run_once()
    assert_table_equals_objects(pipeline, "shop")
    assert not pipeline.rows("shop", "product")
    pipeline.container.rename_folder("shop2", "shop")
    pipeline.run_once()
    assert_table_equals_objects(pipeline, "shop")
    assert pipeline.rows("shop", "product")


def test_the_rows_of_a_removed_folder_end(pipeline: AzurePipeline) -> None:
    pipeline.container.remove_folder("shop")
    pipeline.run_once()
    assert not pipeline.rows("shop", "product")
    pipeline.command("verify", "--deep", timeout=300).expect(0)


def test_status_and_doctor_know_the_queue(pipeline: AzurePipeline) -> None:
    assert pipeline.read_json("status")["queue"] == {"visible": 0, "in_flight": 0, "error": None}
    doctor = pipeline.command("doctor", timeout=120)
    assert "source.queue.name" in doctor.stdout
    assert pipeline.config["source"]["queue"]["name"] in doctor.stdout


@pytest.mark.parametrize(
    ("key", "subject"),
    [("source.queue.name", "queue nothing-there"), ("source.container", "container nothing-there")],
)
def test_what_is_missing_is_named(pipeline: AzurePipeline, key: str, subject: str) -> None:
    missing = pipeline.command("--set", f"{key}=nothing-there", "run", "--once", timeout=120)
    assert missing.exit_code != 0
    assert subject in missing.stderr
    assert key in missing.stderr


def test_a_wrong_key_is_named(pipeline: AzurePipeline) -> None:
    environ = {**pipeline.environ, "AZURE_STORAGE_KEY": "d3Jvbmc="}
    refused = pipeline.start("run", "--once", environ=environ).finish(120)
    refused.expect(1)
    assert "AZURE_STORAGE_KEY" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_killed_anywhere_nothing_is_lost_and_nothing_is_twice(
    azurite: RunningAzurite, tmp_path: Path
) -> None:
    # A run waits for what a killed one holds.
    container = azurite.create_container(notifies=True)
    kill_everywhere(AzurePipeline(container, tmp_path / "work", TABLES, visibility_timeout=5))

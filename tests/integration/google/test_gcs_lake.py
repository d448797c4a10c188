"""A lake in Cloud Storage, written by Spark with Google's connector, read with and without a JVM."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.end_to_end.gcs_pipeline import GcsPipeline
from tests.fixtures.google import PubSub, open_storage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TABLES: dict[str, Any] = {
    "orders": {"path": "orders/*.json", "record_key": "id", "ordering": "ts"},
    "mirror": {"path": "mirror/*.json", "mode": "mirror", "table_type": "merge_on_read"},
}


@pytest.fixture(scope="module")
def pipeline(pubsub: PubSub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GcsPipeline]:
    """Two runs: what was written first, then an overwrite and a removal."""
    folder = tmp_path_factory.mktemp("gcs-lake")
    # The server reports changes of all its buckets: a run would never catch up with those of its lake.
    with open_storage(folder, pubsub) as storage, open_storage(folder / "lake") as lake:
        found = GcsPipeline(storage, pubsub, folder / "work", TABLES)
        found.config["lake"] = f"gs://{lake.bucket}/bronze"
        found.config["lake_storage"] = {"endpoint": lake.endpoint}
        found.write_config()
        found.put("orders/1.json", '{"id": 1, "ts": 1, "name": "a"}\n{"id": 2, "ts": 1, "name": "b"}\n')
        found.put("orders/2.json", '{"id": 1, "ts": 2, "name": "newer"}\n')
        found.put_all({f"mirror/{n}.json": f'{{"n": {n}}}\n' for n in range(3)})
        found.run_once(timeout=200).expect(0)
        found.put("mirror/1.json", '{"n": 11}\n{"n": 12}\n')
        found.remove("mirror/2.json")
        found.run_once(timeout=200).expect(0)
        yield found


def test_rows_are_those_of_the_bucket(pipeline: GcsPipeline) -> None:
    assert pipeline.sql("select id, name from orders order by id") == [
        {"id": 1, "name": "newer"},
        {"id": 2, "name": "b"},
    ]
    assert pipeline.sql("select n from mirror order by n") == [{"n": 0}, {"n": 11}, {"n": 12}]


def test_status_and_timeline_read_the_lake_without_a_jvm(pipeline: GcsPipeline) -> None:
    tables = pipeline.read_json("status")["tables"]
    assert {name: table["rows"] for name, table in tables.items()} == {"orders": 2, "mirror": 3}
    assert len(pipeline.read_json("table", "mirror", "timeline")) >= 2


def test_verify_finds_nothing_missing(pipeline: GcsPipeline) -> None:
    pipeline.command("verify", "--deep", timeout=200).expect(0)


def test_doctor_writes_to_the_lake(pipeline: GcsPipeline) -> None:
    lake = pipeline.config["lake"]
    assert f"{lake} is writable" in pipeline.command("doctor", timeout=120).stdout
    absent = pipeline.command("--set", "lake=gs://no-such-bucket/bronze", "doctor", timeout=120)
    assert "gs://no-such-bucket/bronze: the bucket does not exist" in absent.stdout


def test_a_run_names_a_lake_whose_bucket_does_not_exist(pipeline: GcsPipeline) -> None:
    run = pipeline.command("--set", "lake=gs://no-such-bucket/bronze", "run", "--once", timeout=200).expect(1)
    assert "gs://no-such-bucket/bronze" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_backup_of_the_lake_can_be_verified(pipeline: GcsPipeline, tmp_path: Path) -> None:
    pipeline.command("backup", str(tmp_path / "backup"), timeout=200).expect(0)

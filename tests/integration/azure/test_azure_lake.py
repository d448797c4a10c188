"""A lake in Data Lake Storage, written by Spark with Hadoop's driver, read with and without a JVM.

The DFS endpoint is the double of `tests.fixtures.servers.data_lake`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headwater.config.azure_account import EMULATOR_KEY
from tests.fixtures.azure import DataLake, RunningAzurite
from tests.fixtures.end_to_end.azure_pipeline import AzurePipeline
from tests.fixtures.servers.data_lake.answer import RefusedError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TABLES: dict[str, Any] = {
    "clicks": {"path": "clicks/*.json"},
    "orders": {"path": "orders/*.json", "record_key": "id", "ordering": "ts"},
    "mirror": {"path": "mirror/*.json", "mode": "mirror", "table_type": "merge_on_read"},
}


def build_pipeline(
    azurite: RunningAzurite, data_lake: DataLake, folder: Path, tables: Mapping[str, Any] = TABLES
) -> AzurePipeline:
    # A run waits for the messages that a killed one holds.
    container = azurite.create_container(notifies=True)
    found = AzurePipeline(container, folder / "work", tables, visibility_timeout=5)
    found.config["lake"] = data_lake.create_lake()
    found.config["lake_storage"] = {"endpoint": data_lake.endpoint}
    found.write_config()
    # The driver reads the variable, as it does in Azure.
    found.environ["AZURE_STORAGE_KEY"] = EMULATOR_KEY
    return found


@pytest.fixture(scope="module")
def pipeline(
    azurite: RunningAzurite, data_lake: DataLake, tmp_path_factory: pytest.TempPathFactory
) -> AzurePipeline:
    """Two runs: what was written first, then an overwrite and a removal."""
    found = build_pipeline(azurite, data_lake, tmp_path_factory.mktemp("azure-lake"))
    found.put("clicks/1.json", '{"id": 1}\n{"id": 2}\n')
    found.put("orders/1.json", '{"id": 1, "ts": 1, "name": "a"}\n{"id": 2, "ts": 1, "name": "b"}\n')
    found.put("orders/2.json", '{"id": 1, "ts": 2, "name": "newer"}\n')
    found.put_all({f"mirror/{n}.json": f'{{"n": {n}}}\n' for n in range(3)})
    found.run_once(timeout=300).expect(0)
    found.put("mirror/1.json", '{"n": 11}\n{"n": 12}\n')
    found.remove("mirror/2.json")
    found.run_once(timeout=300).expect(0)
    return found


def test_rows_are_those_of_the_container(pipeline: AzurePipeline) -> None:
    assert pipeline.sql("select id from clicks order by id") == [{"id": 1}, {"id": 2}]
    assert pipeline.sql("select id, name from orders order by id") == [
        {"id": 1, "name": "newer"},
        {"id": 2, "name": "b"},
    ]
    assert pipeline.sql("select n from mirror order by n") == [{"n": 0}, {"n": 11}, {"n": 12}]


def test_status_and_timeline_read_the_lake_without_a_jvm(pipeline: AzurePipeline) -> None:
    tables = pipeline.read_json("status")["tables"]
    assert {name: table["rows"] for name, table in tables.items()} == {"clicks": 2, "orders": 2, "mirror": 3}
    assert len(pipeline.read_json("table", "mirror", "timeline")) >= 2


def test_verify_finds_nothing_missing(pipeline: AzurePipeline) -> None:
    pipeline.command("verify", "--deep", timeout=200).expect(0)


def test_doctor_writes_to_the_lake(pipeline: AzurePipeline) -> None:
    lake = pipeline.config["lake"]
    assert f"{lake} is writable" in pipeline.command("doctor", timeout=120).stdout
    absent = lake.replace("landing-", "absent-")
    refused = pipeline.command("--set", f"lake={absent}", "doctor", timeout=120)
    assert f"{absent}: the container does not exist" in " ".join(refused.stdout.split())


def test_a_run_names_a_lake_whose_container_does_not_exist(pipeline: AzurePipeline) -> None:
    absent = pipeline.config["lake"].replace("landing-", "absent-")
    run = pipeline.command("--set", f"lake={absent}", "run", "--once", timeout=200).expect(1)
    assert absent in run.stderr
    assert "Traceback" not in run.stderr


def test_a_wrong_key_is_named(pipeline: AzurePipeline) -> None:
    environ = {**pipeline.environ, "AZURE_STORAGE_KEY": "d3Jvbmc="}
    for words in (("status",), ("sql", "select 1 from clicks"), ("table", "clicks", "timeline")):
        refused = pipeline.start(*words, environ=environ).finish(120)
        assert "AZURE_STORAGE_KEY" in refused.stderr + refused.stdout, words
        assert "Traceback" not in refused.stderr


def test_credentials_that_the_driver_does_not_support_are_named(pipeline: AzurePipeline) -> None:
    environ = {**pipeline.environ, "AZURE_STORAGE_KEY": "", "AZURE_STORAGE_SAS_TOKEN": "sv=2024-01-01&sig=x"}
    doctor = pipeline.start("doctor", environ=environ).finish(120)
    assert "does not support a shared access signature" in " ".join(doctor.stdout.split())


def test_a_backup_is_restored_into_another_folder(pipeline: AzurePipeline, tmp_path: Path) -> None:
    pipeline.command("backup", str(tmp_path / "backup"), timeout=200).expect(0)
    lake = f"{pipeline.config['lake']}-restored"
    moved = ("--set", f"lake={lake}")
    pipeline.command(*moved, "restore", str(tmp_path / "backup"), timeout=200).expect(0)
    counted = pipeline.command(*moved, "sql", "select count(*) as n from mirror", "--json").expect(0)
    assert '"n": 3' in counted.stdout


@pytest.mark.parametrize("point", ["before_data_commit", "after_data_commit", "after_events_commit"])
def test_a_killed_run_is_continued(pipeline: AzurePipeline, point: str) -> None:
    pipeline.put(f"clicks/{point}.json", '{"id": 3}\n')
    pipeline.put("mirror/0.json", f'{{"n": {len(point)}}}\n')
    assert pipeline.run_once(crash_point=point, timeout=300).was_killed
    pipeline.run_once(timeout=300).expect(0)
    assert len(pipeline.sql(f"select 1 from clicks where _headwater_object like '%{point}%'")) == 1
    assert {"n": len(point)} in pipeline.sql("select n from mirror")
    pipeline.command("verify", "--deep", timeout=200).expect(0)


TIMELINES = {
    "data": "clicks/.hoodie/timeline/",
    "events": "_headwater/events/.hoodie/timeline/",
}


@pytest.mark.parametrize("timeline", TIMELINES.values(), ids=TIMELINES.keys())
def test_a_commit_whose_file_was_created_and_not_filled_is_repeated(
    pipeline: AzurePipeline, data_lake: DataLake, timeline: str
) -> None:
    before = len(pipeline.sql("select 1 from clicks"))
    pipeline.put(f"clicks/{len(timeline)}.json", '{"id": 4}\n{"id": 5}\n')
    run = pipeline.start("run", "--once")
    killed: list[str] = []

    def kill(_: str, name: str, query: Mapping[str, str]) -> RefusedError | None:
        file = name.rpartition("/")[2]
        # A completed action has two times.
        if query.get("action") != "append" or timeline not in name or "_" not in file:
            return None
        run.kill()
        killed.append(file)
        return RefusedError(503, "ServerBusy")

    data_lake.double.refuse = kill
    assert run.finish(300).was_killed
    data_lake.double.refuse = lambda *_: None
    if timeline == TIMELINES["data"]:
        refused = pipeline.command("sql", "select 1 from clicks").expect(1)
        assert "its newest commit is incomplete" in refused.stderr
    again = pipeline.run_once(timeout=300).expect(0)
    assert killed[0] in again.stderr
    assert len(pipeline.sql("select 1 from clicks")) == before + 2
    pipeline.command("verify", "--deep", timeout=200).expect(0)

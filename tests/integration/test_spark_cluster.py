"""A Spark cluster of several processes, any of which may die: the table equals the bucket, row by row."""

import json
import os
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from headwater.config.environment import find_state_folder
from headwater.config.lake_storage import LakeStorageConfig
from headwater.demo.emulator import CREDENTIALS, REGION
from headwater.lake.prerequisites.prepared_start import PreparedStart
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.storage_options import build_storage_options
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.command import Running
from tests.fixtures.end_to_end.faulty_proxy import FaultyProxy, run_faulty_proxy
from tests.fixtures.end_to_end.pipeline import Pipeline
from tests.fixtures.end_to_end.product import Row
from tests.fixtures.end_to_end.python_archive import write_python_archive
from tests.fixtures.end_to_end.standalone_cluster import HOST, StandaloneCluster, run_standalone_cluster
from tests.fixtures.free_port import find_free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

OBJECTS = 2_000
OVERWRITTEN = range(0, OBJECTS, 8)
REMOVED = range(3, OBJECTS, 20)
FETCHED_BEFORE_KILL = 300
HOLD_SECONDS = 60
PYTHON = "./environment/bin/python"
COLUMNS = ("_headwater_object", "_headwater_row", "number", "version", "text")


class Gate:
    """Holds requests for objects, all after the first ones, until it is opened."""

    def __init__(self, free: int) -> None:
        self.reached = threading.Event()
        self._free = free
        self._count = 0
        self._lock = threading.Lock()
        self._opened = threading.Event()

    def __call__(self, method: str, target: str) -> None:
        if method != "GET" or "/shop/" not in unquote(target.partition("?")[0]):
            return
        with self._lock:
            self._count += 1
            is_free = self._count <= self._free
        if not is_free:
            self.reached.set()
            self._opened.wait(HOLD_SECONDS)

    def open(self) -> None:
        self._opened.set()


@pytest.fixture
def proxy(emulator: EmulatorSession) -> Iterator[FaultyProxy]:
    with run_faulty_proxy(emulator.endpoint) as running:
        yield running


@pytest.fixture(scope="module")
def cluster(
    emulator: EmulatorSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StandaloneCluster]:
    folder = tmp_path_factory.mktemp("cluster")
    with run_standalone_cluster(folder, emulator.environment, workers=2) as running:
        yield running


@pytest.fixture
def pipeline(
    emulator: EmulatorSession, proxy: FaultyProxy, cluster: StandaloneCluster, tmp_path: Path
) -> Pipeline:
    """A bucket behind the proxy, a lake in another one, and tables on the cluster."""
    pipeline = Pipeline(emulator, tmp_path / "pipeline", {"shop": {"path": "shop/*.json", "mode": "mirror"}})
    pipeline.config["source"]["endpoint"] = proxy.endpoint
    lake = f"lake-{uuid.uuid4().hex[:12]}"
    emulator.clients.s3.create_bucket(Bucket=lake)
    archive = write_python_archive(tmp_path / "environment.tar.gz")
    pipeline.config |= {
        "lake": f"s3a://{lake}/bronze",
        "lake_storage": {"endpoint": emulator.endpoint, "region": REGION},
        "spark": {
            "master": cluster.url,
            "driver_memory": "1g",
            "driver_host": HOST,
            "driver_port": find_free_port(),
            "block_manager_port": find_free_port(),
            "config": {
                "spark.executor.memory": "512m",
                "spark.archives": f"{archive}#environment",
                "spark.pyspark.python": PYTHON,
            },
        },
    }
    pipeline.write_config()
    return pipeline


def build_object(number: int, version: int) -> str:
    """Lines of one object; another version has another number of them."""
    lines = (
        {"number": number, "version": version, "text": f"{at}"} for at in range(1 + (number + version) % 3)
    )
    return "".join(json.dumps(line) + "\n" for line in lines)


def name_key(number: int) -> str:
    return f"shop/{number:04d}.json"


def list_expected(pipeline: Pipeline) -> Counter[Row]:
    """The rows of the objects in the bucket."""
    return Counter(
        (f"s3://{pipeline.bucket}/{key}", at, record["number"], record["version"], record["text"])
        for key, body in pipeline.read_objects("shop/").items()
        for at, record in enumerate(map(json.loads, body.splitlines()), start=1)
    )


def list_rows(pipeline: Pipeline, endpoint: str) -> Counter[Row]:
    """The rows of the table, read without Spark; none before its first commit."""
    lake = pipeline.config["lake"]
    options = build_storage_options(lake, LakeStorageConfig(endpoint=endpoint, region=REGION))
    reader = SnapshotReader(f"{lake}/shop", options)
    if not reader.exists() or not reader.commit_names:
        return Counter()
    return Counter(tuple(row[name] for name in COLUMNS) for row in reader.read(list(COLUMNS)).to_pylist())


def list_markers(pipeline: Pipeline, emulator: EmulatorSession) -> set[str]:
    """What Hudi leaves for each data file it is writing; gone when the commit is complete."""
    bucket, _, folder = pipeline.config["lake"].removeprefix("s3a://").partition("/")
    found = emulator.clients.s3.list_objects_v2(Bucket=bucket, Prefix=f"{folder}/shop/.hoodie/.temp/")
    return {entry["Key"] for entry in found.get("Contents", []) if ".marker." in entry["Key"]}


def read_jvm_log(pipeline: Pipeline, running: Running) -> str:
    logs = find_state_folder(pipeline.environ) / "logs"
    (log,) = logs.glob(f"*-{running.process.pid}/spark.log")
    return log.read_text("utf-8", errors="replace")


def test_table_equals_the_bucket_after_an_executor_and_the_driver_were_killed(
    pipeline: Pipeline,
    proxy: FaultyProxy,
    cluster: StandaloneCluster,
    emulator: EmulatorSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    pipeline.put_all({name_key(number): build_object(number, 0) for number in range(OBJECTS)})
    gate = Gate(FETCHED_BEFORE_KILL)
    proxy.find_fault = gate

    running = pipeline.start("run")
    try:
        running.wait_until(gate.reached.is_set, "requests of executors")
        assert {command[0] for command in cluster.find_python_workers()} == {PYTHON}
        cluster.kill_executor()
        gate.open()
        expected = list_expected(pipeline)
        running.wait_until(lambda: list_rows(pipeline, emulator.endpoint) == expected, "all rows", 300)
        assert "ExecutorLostFailure" in read_jvm_log(pipeline, running)

        pipeline.put_all({name_key(number): build_object(number, 1) for number in OVERWRITTEN})
        for number in REMOVED:
            pipeline.remove(name_key(number))
        running.wait_until(lambda: list_markers(pipeline, emulator), "a data file that is being written")
    finally:
        gate.open()
        running.finish_by_force()
    assert list_rows(pipeline, emulator.endpoint) != list_expected(pipeline)

    pipeline.run_once().expect(0)
    assert list_rows(pipeline, emulator.endpoint) == list_expected(pipeline)
    assert pipeline.queue_depth() == (0, 0)


def test_run_with_jars_of_the_executors_ends_when_the_cluster_ends_its_application(
    cluster: StandaloneCluster, tmp_path: Path
) -> None:
    landing, lake = tmp_path / "landing", tmp_path / "lake"
    landing.mkdir()
    (landing / "a.json").write_text('{"n": 1}\n')
    config = {
        "source": {"type": "local", "path": str(landing)},
        "lake": str(lake),
        "tables": {"orders": {"path": "*.json"}},
        "spark": {
            "master": cluster.url,
            "driver_memory": "1g",
            "driver_host": HOST,
            "executor_jars": "provided",
            "config": {
                "spark.executor.memory": "512m",
                "spark.executor.extraClassPath": f"{PreparedStart.find(os.environ).folder}/*",
            },
        },
    }
    file = tmp_path / "headwater.yaml"
    file.write_text(json.dumps(config))
    timeline = lake / "orders" / ".hoodie" / "timeline"
    running = Running(["--config", str(file), "run"], tmp_path / "run", os.environ)
    try:
        running.wait_until(lambda: any(timeline.glob("*_*.*commit")), "a commit")
        (application,) = cluster.list_applications()
        cluster.end_application(application)
        run = running.finish(120)
    finally:
        running.finish_by_force()
    assert "Spark has stopped" in run.expect(1).stderr

"""Several processes that write one lake with a lock, one of them killed: all rows are there, once.

Two `headwater run`s (one works, the other waits to take over), a writer with plain PySpark that changes the
same files, `headwater services run`, and services by hand, all at the same time.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import headwater
from headwater.config.loader import load_settings
from headwater.errors import LakeError
from headwater.lake.layout import table_path
from headwater.lake.prerequisites.spark_settings import build_spark_settings
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.typed_options.locks import read_session_lock
from tests.fixtures.end_to_end import external_writer
from tests.fixtures.end_to_end.command import Running, run_command

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

CONFIG = """
source: {type: local, path: source}
lake: lake
lock: {provider: file_system, expire_minutes: 1}
tables:
  orders: {path: "orders/*.json", record_key: id, ordering: ts}
  clicks: {path: "clicks/*.json"}
  shop:
    path: "shop/*.json"
    mode: mirror
    table_type: merge_on_read
    index: {type: bucket, buckets: 1}
    services: async
    compact_after: 2
spark: {driver_memory: 1g}
"""
ENVIRON = {**os.environ, "PYTHONPATH": str(Path(headwater.__file__).parents[1])}
FOREIGN_COMMITS = 12


class Folder:
    """A source and a lake, and processes over them."""

    def __init__(self, path: Path, config: str = CONFIG) -> None:
        self.path = path
        self.file = path / "headwater.yaml"
        (path / "source").mkdir()
        self.file.write_text(config)
        self.put_count = 0

    def put(self, count: int = 1) -> None:
        """So many objects for each table, a row each, with ids that go on."""
        for _ in range(count):
            n = self.put_count = self.put_count + 1
            for table in ("orders", "clicks", "shop"):
                target = self.path / "source" / table / f"{n}.json"
                target.parent.mkdir(exist_ok=True)
                target.write_text(json.dumps({"id": n, "ts": n}))

    @contextmanager
    def start(self, name: str, *words: str) -> Iterator[Running]:
        """A process that runs on, as NAME."""
        running = Running(["-c", str(self.file), *words], self.path / name, ENVIRON)
        try:
            yield running
        finally:
            running.finish_by_force()

    def command(self, *words: str) -> Any:
        """One that ends well; what it printed as JSON."""
        words = ("-c", str(self.file), *words, "--json")
        return json.loads(run_command(*words, folder=self.path / "once", environ=ENVIRON).expect(0).stdout)

    def ids(self, table: str) -> list[int]:
        try:
            reader = SnapshotReader(str(self.path / "lake" / table))
            return sorted(reader.read(["id"]).column("id").to_pylist())
        except LakeError:
            return []

    @contextmanager
    def external_writer(self, table: str) -> Iterator["subprocess.Popen[str]"]:
        """Rows with ids from 1001 on, a commit each, by a process that knows nothing of us but the lock."""
        settings = load_settings(self.file, overrides={})
        spark = build_spark_settings(settings)
        plain = ("spark.serializer", "spark.kryo.registrator", "spark.jars.packages", "spark.driver.host")
        specification = {
            "spark": {name: spark[name] for name in plain}
            | {"spark.master": "local[1]", "spark.ui.enabled": "false"},
            "table": table_path(settings.lake, table),
            "rows": [[[1001 + n, 1]] for n in range(FOREIGN_COMMITS)],
            "hudi": {
                **read_session_lock(spark, table),
                "hoodie.table.name": table,
                "hoodie.datasource.write.recordkey.field": "id",
                "hoodie.table.ordering.fields": "ts",
                "hoodie.metadata.enable": "false",
                "hoodie.embed.timeline.server": "false",
            },
        }
        file = self.path / "foreign.json"
        file.write_text(json.dumps(specification))
        command = [sys.executable, external_writer.__file__, str(file)]
        with (self.path / "foreign.log").open("w") as log:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, env=ENVIRON, start_new_session=True
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_of_several_writers_one_is_killed_and_all_rows_are_there_once(folder):
    folder.put(2)
    with folder.start("first", "run") as first:
        first.wait_until(lambda: folder.ids("orders") == [1, 2] == folder.ids("shop"), "rows")
        with (
            folder.start("second", "run") as second,
            folder.start("worker", "services", "run") as worker,
            folder.external_writer("orders") as foreign,
        ):
            assert foreign.stdout is not None
            assert next(line for line in foreign.stdout if line.startswith("committed")).split()[1] == "1001"
            folder.put(3)
            first.wait_until(
                lambda: folder.ids("orders")[:5] == [1, 2, 3, 4, 5], "rows beside another writer"
            )
            folder.put(3)
            os.killpg(first.process.pid, signal.SIGKILL)
            first.process.wait()
            folder.put(3)
            output = [line for line in foreign.stdout if line.startswith("committed")]
            assert foreign.wait(300) == 0, (folder.path / "foreign.log").read_text()[-3000:]
            assert len(output) == FOREIGN_COMMITS - 1
            ours = list(range(1, 12))
            second.wait_until(
                lambda: folder.ids("orders")[:11] == ours == folder.ids("clicks") == folder.ids("shop"),
                "rows after taking over",
                300,
            )
            worker.signal(signal.SIGTERM)
            second.signal(signal.SIGTERM)
            worker.finish(120).expect(0)
            second.finish(120).expect(0)
    assert folder.ids("orders") == [*ours, *range(1001, 1001 + FOREIGN_COMMITS)]
    assert folder.ids("clicks") == ours
    assert folder.ids("shop") == ours
    timeline = [file.name for file in (folder.path / "lake/shop/.hoodie/timeline").iterdir()]
    # The writer leaves all compactions to the worker; a killed one has left none half done.
    assert sum(name.endswith(".compaction.requested") for name in timeline) >= 1
    assert SnapshotReader(str(folder.path / "lake/shop")).list_pending("compaction") == ()
    report = folder.command("run", "--once")
    assert [table["objects"] for table in report["tables"].values()] == [{}, {}, {}]

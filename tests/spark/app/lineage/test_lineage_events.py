"""A run tells a real HTTP collector of each commit, once, by the names that `headwater lineage` has."""

import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from headwater.app import App
from headwater.app.application import read_clock
from headwater.app.components import RunReport
from headwater.app.run import Run
from headwater.cli.main import app as cli
from headwater.config.loader import load_settings
from headwater.lake.inspection.commits import list_commits, load_commit
from headwater.lake.layout import find_address
from tests.fixtures.medallion.lineage_collector import Collector, Json, check_event, run_collector

pytestmark = pytest.mark.slow

TEXT = """
source: {{type: local, path: landing, settle_seconds: 0}}
lake: lake
lineage: {{url: "{url}"}}
tables:
  orders: {{path: "*.json", mode: mirror}}
  paid:
    from: orders
    transform: [{{sql: "select _headwater_source, id, price * 2 as price from input where paid"}}]
    checks: [{{range: {{column: price, max: 100}}}}]
"""


def run_once(spark: SparkSession, file: Path) -> tuple[RunReport, App]:
    app = App(load_settings(file, {}), spark=spark, environ={})
    return Run(app).once(threading.Event()), app


def put(folder: Path, name: str, *rows: dict[str, Any]) -> None:
    (folder / "landing" / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def list_completed(collector: Collector, table: str) -> list[Json]:
    """The outputs of each COMPLETE."""
    ended = collector.of(table, "COMPLETE")
    assert all(len(event["outputs"]) == 1 for event in ended)
    return [event["outputs"][0] for event in ended]


def test_each_commit_is_reported_once(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    file = tmp_path / "headwater.yaml"
    with run_collector() as collector:
        file.write_text(TEXT.format(url=collector.url))
        put(tmp_path, "1.json", {"id": 1, "price": 5, "paid": True}, {"id": 2, "price": 1, "paid": False})
        report, app = run_once(spark, file)
        put(tmp_path, "2.json", {"id": 3, "price": 7, "paid": True})
        run_once(spark, file)  # another process: the names stay
        put(tmp_path, "2.json", {"id": 3, "price": 70, "paid": True})
        failed, _ = run_once(spark, file)

    assert report.failures == {}
    assert list(failed.failures) == ["paid"]
    for event in collector.events:
        check_event(event)
    for table, commits in (("orders", 3), ("paid", 2)):
        outputs = list_completed(collector, table)
        address, now = find_address(app.settings, table), read_clock()
        instants = [commit.instant for commit in list_commits(address, now)]
        reported = Counter(output["facets"]["version"]["datasetVersion"] for output in outputs)
        assert reported == Counter(instants)
        assert len(instants) == commits
        for output in outputs:
            detail = load_commit(address, output["facets"]["version"]["datasetVersion"], now)
            written = detail.summary.written
            assert written is not None
            statistics = output["outputFacets"]["outputStatistics"]
            assert (statistics["size"], statistics["fileCount"]) == (
                written.bytes_written,
                written.files_written,
            )
    statistics = [one["outputFacets"]["outputStatistics"] for one in list_completed(collector, "orders")]
    assert [one["rowCount"] for one in statistics] == [2, 1, 1]
    _check_runs(collector)
    _check_names(collector, file)


def _check_runs(collector: Collector) -> None:
    """Each run begins once and ends once; a failed one says why."""
    for table in ("orders", "paid"):
        begun = [event["run"]["runId"] for event in collector.of(table, "START")]
        ended = [event["run"]["runId"] for event in collector.of(table, "COMPLETE", "FAIL")]
        assert begun == ended
        assert len(set(begun)) == len(begun)
    failures = collector.of("paid", "FAIL")
    assert failures
    assert "price" in failures[0]["run"]["facets"]["errorMessage"]["message"]
    fields = list_completed(collector, "paid")[0]["facets"]["schema"]["fields"]
    assert [(one["name"], one["type"]) for one in fields if not one["name"].startswith("_headwater")] == [
        ("id", "bigint"),
        ("price", "bigint"),
    ]


def _check_names(collector: Collector, file: Path) -> None:
    shown = json.loads(CliRunner().invoke(cli, ["--config", str(file), "lineage", "--json"]).stdout)
    datasets = {node["name"]: node["dataset"] for node in shown["nodes"]}
    landing = str(file.parent / "landing")
    for table, source in (("orders", landing), ("paid", "orders")):
        for event in collector.of(table):
            for name, found in ((source, event["inputs"]), (table, event["outputs"])):
                assert [{key: one[key] for key in ("namespace", "name")} for one in found] == [datasets[name]]

"""`headwater status` as a command: the JSON that scripts rely on, and the text."""

import json
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.app.status import (
    EventsStatus,
    QuarantineStatus,
    QueueStatus,
    SourceStatus,
    Status,
    WriterStatus,
)
from headwater.capture.reconcile import ReconcilePass
from headwater.cli.main import app
from headwater.cli.status import render_status
from headwater.lake.writers.writer_lease import Intent, Patience, WriterLease, read_writers
from headwater.observability.part_board import PartBoard
from headwater.observability.part_state import PartState
from tests.fixtures.lakes import write_config
from tests.fixtures.waiting import wait_until


def run(config: Path, *args: str) -> Result:
    return CliRunner().invoke(app, ["-c", str(config), "status", *args])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path)


def test_json_has_the_documented_shape(config):
    output = json.loads(run(config, "--json").stdout)
    assert set(output["tables"]) == {"orders_cow", "orders_mor", "archived", "odd_partitions", "coming"}
    for table in output["tables"].values():
        assert {"rows", "commits", "checkpoint", "lag_events", "lag_seconds"} <= set(table)
    orders = output["tables"]["orders_cow"]
    assert (orders["rows"], orders["commits"], orders["lag_events"]) == (8, 3, 3)
    assert orders["lag_seconds"] > 0
    assert isinstance(orders["checkpoint"], str)
    assert output["events"]["rows"] == 9
    assert output["events"]["last_commit"].endswith("Z")
    assert output["quarantine"] == {"messages": 1, "objects": 1, "records": 2}


def test_json_before_the_first_run_is_zeros(tmp_path):
    config = write_config(tmp_path, tmp_path / "lake")
    done = run(config, "--json", "--table", "coming")
    output = json.loads(done.stdout)
    assert done.exit_code == 0
    assert output["events"] == {"rows": 0, "commits": 0, "last_commit": None}
    assert output["quarantine"] == {"messages": 0, "objects": 0, "records": 0}
    assert output["tables"] == {
        "coming": {
            "rows": 0,
            "commits": 0,
            "checkpoint": None,
            "last_commit": None,
            "lag_events": 0,
            "lag_seconds": 0.0,
            "follows": None,
            "lag_commits": 0,
            "failure": "",
            "skipped": [],
            "adopted_until": None,
            "sets": None,
            "inputs": [],
            "iceberg": None,
        }
    }


def test_a_source_without_commits_is_named(config):
    joined = """
  joined:
    from: [orders_cow, coming]
    refresh: full
    record_key: id
    transform: [{sql: select c.id from coming c join orders_cow o on o.id = c.id}]
"""
    text = config.read_text("utf-8")
    config.write_text(text.replace("\ntables:\n", "\ntables:" + joined), "utf-8")
    lines = run(config, "--table", "joined").stdout.splitlines()
    assert "waiting     joined: coming has no commit yet" in lines
    assert lines[-1].split()[:3] == ["joined", "0", "0"]
    assert "3 commits of orders_cow, 0 commits of coming" in lines[-1]
    found = json.loads(run(config, "--json", "--table", "joined").stdout)["tables"]["joined"]
    assert (found["follows"], found["checkpoint"], found["lag_commits"]) == ("orders_cow, coming", None, 3)
    assert [lag["has_commits"] for lag in found["inputs"]] == [True, False]


def test_text_has_a_line_a_table(config):
    lines = run(config).stdout.splitlines()
    assert lines[0].startswith("events      9 rows, last commit 20")
    assert lines[1] == "quarantine  1 messages, 1 objects, 2 records"
    orders = next(line for line in lines if line.startswith("orders_cow"))
    assert orders.split()[1:3] == ["8", "3"]
    assert "never" in next(line for line in lines if line.startswith("coming"))


def show(*sources):
    render_status(Status(EventsStatus(0, 0, None), {}, QuarantineStatus(0, 0, 0), None, sources=sources))


def test_several_sources_are_named(capsys):
    show(
        SourceStatus("east", "s3://e/", QueueStatus(1, 0)), SourceStatus("west", "s3://w/", QueueStatus(2, 3))
    )
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("queue")]
    assert lines == [
        "queue       east: 1 waiting, 0 in flight",
        "queue       west: 2 waiting, 3 in flight",
    ]


@pytest.mark.parametrize(
    ("queue", "expected_message"),
    [
        (QueueStatus(1200, 3), "queue       1,200 waiting, 3 in flight"),
        (QueueStatus(None, None, "no such queue"), "queue       no such queue"),
    ],
)
def test_queue_or_its_error_is_printed(capsys, queue, expected_message):
    show(SourceStatus("", "s3://b/", queue))
    assert expected_message in capsys.readouterr().out.splitlines()


def test_unknown_table_exits_2(config):
    done = run(config, "--table", "oders_cow")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "orders_cow" in done.stderr


def test_last_reconcile_is_a_line(capsys):
    started = datetime(2026, 6, 1, tzinfo=timezone.utc)
    done = ReconcilePass("p", "b", "", "listing", started, cursor="a/9", listed=1200, missing=3)
    for state in (done, replace(done, finished_at=started + timedelta(minutes=2))):
        show(SourceStatus("", "s3://b/", reconcile=state))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("reconcile")]
    assert lines == [
        "reconcile   unfinished, after 'a/9': 1,200 listed, 3 missing, 0 changed, 0 absent from the listing",
        "reconcile   2026-06-01 00:02:00Z: 1,200 listed, 3 missing, 0 changed, 0 absent from the listing",
    ]


def test_a_table_whose_batches_fail_in_an_active_run_is_shown(tmp_path):
    lake = tmp_path / "lake"
    config, intent = write_config(tmp_path, lake), Intent("run", "run", ("orders_cow",))
    board = PartBoard()
    board.add("session").note("up")
    board.add("table-orders_cow").retry("the batch could not be read")
    with WriterLease(str(lake), {}, intent).entered(Patience(0)) as lease:
        board.subscribe(lease.note_part)
        wait_until(lambda: [writer for writer in read_writers(str(lake), {}) if writer.parts])
        output = json.loads(run(config, "--json").stdout)
        shown = run(config).stdout
    assert output["tables"]["orders_cow"]["failure"] == "the batch could not be read"
    assert output["tables"]["orders_mor"]["failure"] == ""
    assert "parts       degraded: session up, table-orders_cow retrying" in shown
    assert "retrying    table-orders_cow: the batch could not be read, since 20" in shown
    (writer,) = output["writers"]
    assert writer["health"] == "degraded"
    assert writer["parts"]["table-orders_cow"]["status"] == "retrying"
    assert writer["parts"]["table-orders_cow"]["error"] == "the batch could not be read"


def test_parts_of_each_active_process_are_lines(capsys):
    at = datetime(2026, 6, 1, tzinfo=timezone.utc)
    parts = {"session": PartState("up", at), "index": PartState("failed", at, "a bug")}
    since = "2026-05-31 23:00:00 UTC"
    writers = [
        WriterStatus("run", "etl-1", 7, since, ("orders", "clicks"), "failed", parts),
        WriterStatus("services run", "etl-2", 8, since, ("orders",)),
    ]
    found = Status(EventsStatus(0, 0, None), {}, QuarantineStatus(0, 0, 0), None, writers=writers)
    render_status(found)
    assert capsys.readouterr().out.splitlines()[1:5] == [
        f"running     run (process 7 on etl-1, since {since}): orders, clicks",
        "parts       failed: session up, index failed",
        "failed      index: a bug, since 2026-06-01 00:00:00Z",
        f"running     services run (process 8 on etl-2, since {since}): orders",
    ]

"""`headwater changes` as a command: what is printed, exit codes, and how it goes on and ends."""

import json
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.cli.main import app
from headwater.lake.snapshot_reader import SnapshotReader
from tests.fixtures.lakes import FIXTURE_LAKE, write_config

TABLES = ("orders_cow", "orders_mor")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path)


def names_of(table):
    return SnapshotReader(f"{FIXTURE_LAKE}/{table}").commit_names


def run(config, *words):
    return CliRunner().invoke(app, ["-c", str(config), "changes", *words])


@contextmanager
def following(config, table, since):
    """The command as a process, and what reads a line of it."""
    command = [sys.executable, "-m", "headwater.cli.main", "-c", str(config), "changes", table]
    with subprocess.Popen(
        [*command, "--since", since, "--follow", "--interval", "0.1", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        stdout = process.stdout
        try:
            yield process, lambda: json.loads(stdout.readline())
        finally:
            process.kill()


def show(config, *words):
    done = run(config, *words, "--json")
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("table", TABLES)
def test_json_is_one_object_a_change_deletes_included(config, table):
    names = names_of(table)
    shown = show(config, table, "--since", names[0].completed)
    assert [(row["op"], row["key"]) for row in shown] == [("u", "o1"), ("u", "o3"), ("i", "o9"), ("d", "o2")]
    assert set(shown[0]) == {"op", "commit", "completed", "key", "partition", "row"}
    assert shown[0]["row"]["customer"] == "changed"
    assert shown[0]["commit"] == names[1].requested
    assert shown[-1]["row"]["customer"] == "customer 2"
    # The last `completed` goes on where this ended.
    assert show(config, table, "--since", shown[-1]["completed"]) == []
    assert show(config, table, "--since", names[0].completed, "--until", names[1].completed) == shown[:-1]


@pytest.mark.parametrize("since", ["earliest", "2026-11-21", "2026-11-21T06:00Z", "20261121060000", "5000w"])
def test_since_is_an_instant_a_time_a_date_an_age_or_earliest(config, since):
    assert len(show(config, "orders_cow", "--since", since)) == 8


def test_text_is_one_line_a_change(config):
    names = names_of("orders_cow")
    done = run(config, "orders_cow", "--since", names[1].completed)
    (line,) = done.stdout.splitlines()
    assert line.startswith(f'd {names[2].completed} o2 {{"order_id": "o2", "customer": "customer 2", ')


@pytest.mark.parametrize(
    ("words", "expected_message"),
    [
        (("nope", "--since", "earliest"), "there is no table nope"),
        (("orders_cow", "--since", "soon"), "neither a time nor an age"),
        (("orders_cow", "--since", "2026-11-22", "--until", "2026-11-21"), "is before since"),
        (("coming", "--since", "earliest"), "no Hudi table exists there"),
        (("orders_cow", "--since", "earliest", "--cdc"), "the table has no change log"),
    ],
)
def test_bad_input_exits_2(config, words, expected_message):
    done = run(config, *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert expected_message in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_follow_prints_commits_with_offsets_and_ends_cleanly(tmp_path, number):
    lake = Path(shutil.copytree(FIXTURE_LAKE, tmp_path / "lake"))
    config = write_config(tmp_path, lake)
    names = names_of("orders_mor")
    timeline = lake / "orders_mor/.hoodie/timeline"
    newest = f"{names[2].requested}_{names[2].completed}.deltacommit"
    (timeline / newest).rename(tmp_path / newest)
    with following(config, "orders_mor", names[0].completed) as (process, read_line):
        output = [read_line() for _ in range(4)]
        assert [row["op"] for row in output] == ["u", "u", "i", "position"]
        assert output[-1] == {"op": "position", "completed": names[1].completed}
        (tmp_path / newest).rename(timeline / newest)
        output = [read_line() for _ in range(2)]
        assert [(row["op"], row.get("key")) for row in output] == [("d", "o2"), ("position", None)]
        process.send_signal(number)
        rest, errors = process.communicate(timeout=120)
        assert (process.returncode, rest, errors) == (0, "", "")


def test_follow_waits_for_a_table_that_is_not_there_yet(tmp_path):
    lake = tmp_path / "lake"
    config = write_config(tmp_path, lake)
    with following(config, "orders_cow", "earliest") as (process, read_line):
        shutil.copytree(FIXTURE_LAKE / "orders_cow", tmp_path / "copy")
        lake.mkdir()
        (tmp_path / "copy").rename(lake / "orders_cow")
        output = [read_line()["op"] for _ in range(14)]
        assert output == ["i"] * 8 + ["position", "u", "u", "i", "position", "d"]
        process.terminate()
        process.communicate(timeout=120)
        assert process.returncode == 0

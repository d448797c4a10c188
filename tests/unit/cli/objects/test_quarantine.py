"""`headwater quarantine list` and `show`: what is found, and how it is printed."""

import json
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.app.since import parse_since
from headwater.cli.main import app
from headwater.errors import UsageError
from tests.fixtures.lakes import FIXTURE_LAKE, write_config

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def run(config: Path, *args: str) -> Result:
    return CliRunner().invoke(app, ["-c", str(config), "quarantine", *args])


def list_rows(config: Path, *args: str) -> list[dict[str, object]]:
    done = run(config, "list", "--json", *args)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path)


@pytest.fixture
def empty_lake(tmp_path: Path) -> Path:
    return write_config(tmp_path, tmp_path / "lake")


def test_json_is_one_object_an_item_newest_first(config):
    rows = list_rows(config)
    assert [row["level"] for row in rows] == ["record", "record", "object", "message"]
    assert rows[0] == {
        "quarantine_id": rows[0]["quarantine_id"],
        "level": "record",
        "stage": "ingest",
        "reason": "corrupt",
        "detail": "wrong number of fields",
        "quarantined_at": "2026-01-04T10:00:00Z",
        "table": "products",
        "bucket": "landing",
        "key": "p.csv",
        "version": None,
        "event_id": "e4",
        "message_id": None,
        "record_index": None,
        "line": 2,
        "payload": "1,2,[bold]3",
        # The items are older than these columns.
        "version_id": None,
        "event_time": None,
    }


@pytest.mark.parametrize(
    ("args", "event_ids"),
    [
        (["--level", "record"], ["e4", "e3"]),
        (["--level", "message"], [None]),
        (["--reason", "missing"], ["e2"]),
        (["--table", "orders"], ["e3", "e2"]),
        (["--table", "orders", "--level", "record"], ["e3"]),
        (["--since", "2026-01-03T10:00Z"], ["e4", "e3"]),
        (["--since", "2026-01-04"], ["e4"]),
        (["--since", "1s"], []),
        (["--reason", "nobody's"], []),
    ],
)
def test_filters_hold_together(config, args, event_ids):
    assert [row["event_id"] for row in list_rows(config, *args)] == event_ids


def test_item_that_was_written_twice_is_listed_once(tmp_path):
    shutil.copytree(FIXTURE_LAKE, tmp_path / "lake")
    (base,) = (tmp_path / "lake/_headwater/quarantine").glob("*.parquet")
    # A second file group with the same rows, as of a writer that inserts.
    shutil.copy(base, base.with_name(base.name.replace("00000000-", "00000001-", 1)))
    config = write_config(tmp_path, tmp_path / "lake")
    count = CliRunner().invoke(
        app, ["-c", str(config), "sql", "select count(*) as n from quarantine", "--json"]
    )
    assert json.loads(count.stdout)["n"] > 4, "the test needs rows that are there twice"
    ids = [row["quarantine_id"] for row in list_rows(config)]
    assert len(ids) == len(set(ids)) == 4


def test_text_has_one_line_per_item_with_its_location(config):
    lines = run(config, "list").stdout.splitlines()
    assert lines[0].split() == ["id", "time", "level", "table", "reason", "what", "detail"]
    assert "wrong number of fields" in lines[1] + lines[2]
    assert "landing/p.csv, line 2" in lines[1]
    assert "landing/orders/a+b é#1.json" in lines[3]
    assert "message m1" in lines[4]
    assert lines[-1].startswith("2 records, 1 object, 1 message.")


@pytest.mark.parametrize("args", [("list",), ("list", "--table", "orders")])
def test_absent_table_is_an_empty_quarantine(empty_lake, args):
    done = run(empty_lake, *args)
    assert (done.exit_code, done.stdout) == (0, "Quarantine is empty.\n")
    assert (run(empty_lake, *args, "--json").stdout) == ""


def test_show_prints_all_fields_of_one_item(config):
    item = list_rows(config, "--table", "products")[0]
    done = run(config, "show", str(item["quarantine_id"]))
    assert done.exit_code == 0
    assert "wrong number of fields" in done.stdout
    assert "\npayload:\n1,2,[bold]3\n" in done.stdout
    assert "headwater sql \"select * from events where event_id = 'e4'\"" in done.stdout
    assert json.loads(run(config, "show", str(item["quarantine_id"]), "--json").stdout) == item


def test_beginning_of_an_id_is_enough_when_only_one_has_it(config):
    item = list_rows(config, "--level", "message")[0]
    shown = run(config, "show", str(item["quarantine_id"])[:6], "--json")
    assert json.loads(shown.stdout) == item


def test_unknown_id_exits_2_and_names_the_nearest(config):
    known = str(list_rows(config)[0]["quarantine_id"])
    done = run(config, "show", known[:-1] + "~")
    assert done.exit_code == 2
    assert f"did you mean {known}?" in done.stderr
    done = run(config, "show", "")
    assert (done.exit_code, done.stdout) == (2, "")


def test_show_in_an_empty_quarantine_exits_2(empty_lake):
    done = run(empty_lake, "show", "abc")
    assert done.exit_code == 2
    assert "no quarantined item has the id 'abc'" in done.stderr


@pytest.mark.parametrize("args", [("list", "--level", "nope"), ("list", "--since", "yesterday")])
def test_wrong_filters_exit_2(config, args):
    assert run(config, *args).exit_code == 2


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("90m", NOW - timedelta(minutes=90)),
        ("7 d", NOW - timedelta(days=7)),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=timezone.utc)),
        ("2026-01-31T12:00", datetime(2026, 1, 31, 12, tzinfo=timezone.utc)),
        ("2026-01-31T12:00z", datetime(2026, 1, 31, 12, tzinfo=timezone.utc)),
        ("2026-01-31T12:00+02:00", datetime(2026, 1, 31, 10, tzinfo=timezone.utc)),
    ],
)
def test_since_is_a_time_or_an_age(text, time):
    assert parse_since(text, NOW) == time


@pytest.mark.parametrize("text", ["", "soon", "-5m", "2026-13-01", "999999w"])
def test_invalid_since_error_names_allowed_values(text):
    with pytest.raises(UsageError, match="neither a time nor an age") as failure:
        parse_since(text, NOW)
    assert "90m" in failure.value.hint

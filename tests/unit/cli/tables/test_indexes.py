"""`headwater table NAME index ...` and `advise`: what needs no JVM, and what is refused before one starts."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from headwater.app.roles import choose_roles
from headwater.app.services.writer_lease import hold_for_run
from headwater.cli.main import app
from headwater.config.loader import load_settings
from headwater.lake.writers.writer_lease import Patience
from tests.fixtures.inspection.addresses import copy_fixture

DEFINITIONS = ".hoodie/.index_defs/index.json"


def run(config: Path, *args: str) -> Result:
    return CliRunner().invoke(app, ["-c", str(config), "table", *args])


def read_json(config: Path, *args: str) -> Any:
    done = run(config, *args, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Tables that are configured with indexes, over copies that a test may damage."""
    for name in ("orders_cow", "archived", "managed"):
        copy_fixture(name, tmp_path)
    path = tmp_path / "headwater.yaml"
    path.write_text(
        f"""
source: {{type: local, path: /landing}}
lake: "{tmp_path}"
tables:
  orders_cow: {{path: "*.json", record_key: order_id, partition: region, index: {{type: bucket, buckets: 1}}, metadata_table: true}}
  archived: {{path: "*.json", record_key: id}}
  managed: {{path: "*.json", record_key: id, column_stats: [v]}}
"""  # noqa: E501 - a line a table
    )
    return path


def corrupt(config: Path, table: str, properties: str = "", **definitions: dict[str, Any]) -> Path:
    """Write down indexes as a failed creation leaves them; `properties` are lines of the table's."""
    file = config.parent / table / DEFINITIONS
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"indexDefinitions": definitions}))
    with (config.parent / table / ".hoodie/hoodie.properties").open("a") as stored:
        stored.write(properties)
    return file


BY_DAY = {
    "indexName": "expr_index_by_day",
    "indexType": "column_stats",
    "indexFunction": "from_unixtime",
    "sourceFields": ["placed_at"],
    "indexOptions": {"expr": "from_unixtime", "format": "yyyy-MM-dd"},
}


def test_index_without_command_equals_show(config):
    output = read_json(config, "orders_cow", "index")
    assert output == read_json(config, "orders_cow", "index", "show")
    assert output["write_index"] == {"type": "bucket", "buckets": 1, "told_by": "configuration"}
    assert (output["indexes"], output["problems"]) == ([], [])
    assert output["columns"]["placed_at"] == "timestamp"
    assert "write index: bucket, 1 buckets" in run(config, "orders_cow", "index").stdout


def test_index_of_the_metadata_table_has_its_state_and_size_on_disk(config):
    lines = "hoodie.table.metadata.partitions=files,expr_index_low\n"
    options = {"expr": "date_format", "format": "yyyy"}
    low = BY_DAY | {"indexFunction": "date_format", "indexOptions": options}
    corrupt(config, "orders_cow", lines, expr_index_low=low)
    folder = config.parent / "orders_cow/.hoodie/metadata/expr_index_low"
    folder.mkdir(parents=True)
    (folder / "a.hfile").write_bytes(b"x" * 700)
    (folder / ".a.log").write_bytes(b"x" * 70)
    (folder / ".a.hfile.crc").write_bytes(b"x")
    found = {one["name"]: one for one in read_json(config, "orders_cow", "index")["indexes"]}
    assert (found["low"]["kind"], found["low"]["state"], found["low"]["kept"]) == (
        "expression",
        "built",
        True,
    )
    assert (found["low"]["files"], found["low"]["bytes"]) == (2, 770)
    assert found["files"]["state"] == "built"
    text = run(config, "orders_cow", "index").stdout
    assert "date_format, format=yyyy, column_stats" in text


def test_statistics_dropped_by_the_next_write_are_reported(config):
    corrupt(config, "archived", "hoodie.table.metadata.partitions=files,column_stats\n")
    found = read_json(config, "archived", "index")["indexes"]
    assert {one["name"]: one["kept"] for one in found} == {"files": False, "column_stats": False}
    assert "dropped by the next write" in run(config, "archived", "index").stdout


def test_broken_index_is_reported_and_repair_removes_it(config):
    file = corrupt(config, "orders_cow", expr_index_by_day=BY_DAY)
    output = read_json(config, "orders_cow", "index")
    (index,) = output["indexes"]
    assert (index["state"], index["name"]) == ("broken", "by_day")
    assert "column placed_at is timestamp" in index["problem"]
    (problem,) = read_json(config, "orders_cow", "describe")["problems"]
    assert problem in output["problems"]
    assert "index repair" in problem
    before = file.read_bytes()
    assert read_json(config, "orders_cow", "index", "repair", "--dry-run")["dropped"] == ["expr_index_by_day"]
    assert read_json(config, "orders_cow", "index", "drop", "by_day", "--dry-run")["dropped"] != []
    assert file.read_bytes() == before
    refused = run(config, "orders_cow", "index", "create", "x", "--type", "expression", "-c",
        "quantity", "--function", "from_unixtime")  # fmt: skip
    assert refused.exit_code == 2
    assert "index repair" in refused.stderr


def test_secondary_index_without_the_record_index_is_broken(config):
    found = {"indexType": "secondary_index", "sourceFields": ["customer"]}
    corrupt(config, "orders_cow", "hoodie.table.metadata.partitions=files\n", secondary_index_c=found)
    broken = next(one for one in read_json(config, "orders_cow", "index")["indexes"] if one["name"] == "c")
    assert (broken["state"], "without the record index" in broken["problem"]) == ("broken", True)


def test_corrupt_definitions_are_reported(config):
    corrupt(config, "orders_cow").write_text("{not JSON")
    assert "index definitions is corrupt" in read_json(config, "orders_cow", "index")["problems"][0]
    assert "index definitions is corrupt" in read_json(config, "orders_cow", "describe")["problems"][0]


def test_dry_run_of_create_prints_the_plan(config):
    args = ("--type", "expression", "-c", "placed_at", "--function", "date_format")
    options = ("--option", "format=yyyy-MM", "--dry-run")
    output = read_json(config, "orders_cow", "index", "create", "short", *args, *options)
    assert output["index"]["partition"] == "expr_index_short"
    assert output["index"]["options"] == {"format": "yyyy-MM", "expr": "date_format"}
    text = run(config, "orders_cow", "index", "create", "short", *args, *options).stdout
    assert "would be built: expr_index_short on placed_at (format=yyyy-MM, expr=date_format)" in text
    assert not (config.parent / "orders_cow" / DEFINITIONS).exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("create", "s", "-c", "customer"), "index: {type: global_record_level}"),
        (("create", "e", "--type", "expression", "-c", "placed_at", "--function", "year"), "miss rows"),
        (("create", "e", "--type", "expression", "-c", "customer,region", "--function", "year"), "not 2"),
        (("create", "e", "--option", "x"), "not KEY=VALUE"),
        (("drop", "nothing"), "has no index nothing"),
        (("rebuild", "nothing"), "has no index nothing"),
    ],
)  # fmt: skip
def test_unsupported_index_is_invalid_input_without_a_jvm(config, args, said):
    done = run(config, "orders_cow", "index", *args)
    assert done.exit_code == 2
    assert said in done.stderr


def test_own_tables_need_no_advice(config):
    done = run(config, "events", "advise")
    assert done.exit_code == 2
    assert "headwater's own tables" in done.stderr


def test_nothing_broken_is_nothing_to_repair(config):
    assert read_json(config, "managed", "index", "repair")["dropped"] == []
    assert "nothing to do" in run(config, "managed", "index", "repair").stdout


def test_advice_names_its_figures_and_the_lines_to_set(config):
    output = read_json(config, "orders_cow", "advise")
    assert output["profile"]["rows"] == 8
    assert output["advice"]["index"] == "bucket"
    assert "3 commits are too few" in output["advice"]["why"][0]
    text = run(config, "archived", "advise").stdout
    assert "table archived: 7 rows, 7 file groups" in text
    assert "index: simple" in text
    assert "  archived:\n    column_stats: [id, name]" in text


def test_index_changes_are_rejected_during_a_run_with_any_lock(config, monkeypatch):
    with config.open("a") as file:
        file.write("lock: {provider: file_system}\n")
    corrupt(config, "orders_cow", expr_index_by_day=BY_DAY)
    settings = load_settings(config)
    with hold_for_run(settings, choose_roles(settings, tables=["orders_cow"]), threading.Event(), once=True):
        monkeypatch.setattr("headwater.app.services.writer_lease.Patience", lambda: Patience(0.0))
        refused = run(config, "orders_cow", "index", "repair")
    assert refused.exit_code == 1, refused.stderr
    assert "orders_cow: being written by run (process" in refused.stderr

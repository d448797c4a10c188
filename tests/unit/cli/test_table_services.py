"""`headwater table NAME compact ...`: what needs no JVM, and what is refused before one starts."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.cli.main import app
from tests.fixtures.lakes import FIXTURE_LAKE, write_config


def run(config: Path, *args: str) -> Result:
    return CliRunner().invoke(app, ["-c", str(config), "table", *args])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path)


def test_dry_run_of_a_compaction_counts_the_logs_on_disk(config):
    output = json.loads(run(config, "orders_mor", "compact", "--dry-run", "--json").stdout)
    logs = [f for f in (Path(FIXTURE_LAKE) / "orders_mor").rglob(".*.log.*") if f.suffix != ".crc"]
    assert output["dry_run"] is True
    assert output["found"]["files"] == len(logs) > 0
    assert output["found"]["bytes"] == sum(log.stat().st_size for log in logs)
    assert output["found"]["pending"] == []


def test_dry_run_and_service_agree_on_copy_on_write(config):
    done = run(config, "orders_cow", "compact", "--dry-run")
    assert done.exit_code == 2
    assert "copy-on-write" in done.stderr


def test_dry_run_of_a_clustering_names_small_files(config):
    output = json.loads(run(config, "orders_cow", "cluster", "--dry-run", "--json").stdout)["found"]
    assert output["files"] == output["file_groups"] > 0
    assert "small files in" in run(config, "orders_cow", "cluster", "--dry-run").stdout


@pytest.mark.parametrize("command", [("restore",), ("rollback",), ("delete", "--where", "true")])
def test_nothing_is_taken_out_of_own_tables(config, command):
    done = run(config, "events", *command)
    assert done.exit_code == 2
    assert "orders_cow" in done.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("clean", "--keep-commits", "2", "--keep-hours", "3"), "more than one retention policy"),
        (("savepoint", "--delete"), "requires INSTANT"),
        (("delete",), "neither or both of --where and --partition given"),
        (
            ("delete", "--where", "true", "--partition", "day=x"),
            "neither or both of --where and --partition given",
        ),
    ],
)
def test_impossible_combinations_are_bad_input(config, args, said):
    done = run(config, "orders_cow", *args)
    assert done.exit_code == 2
    assert said in done.stderr


def test_unknown_table_is_reported_with_the_nearest_name(config):
    done = run(config, "orders_co", "compact", "--dry-run")
    assert done.exit_code == 2
    assert "did you mean orders_cow?" in done.stderr


def test_upgrade_report_lists_each_step_and_changes_nothing(tmp_path):
    (tmp_path / "lake/orders/.hoodie").mkdir(parents=True)
    properties = tmp_path / "lake/orders/.hoodie/hoodie.properties"
    properties.write_text(
        "hoodie.table.name=orders\nhoodie.table.version=6\nhoodie.table.type=MERGE_ON_READ\n"
    )
    config = tmp_path / "headwater.yaml"
    config.write_text(
        "source: {type: local, path: source}\nlake: lake\n"
        "tables: {orders: {path: '*.json', record_key: id}}\n"
    )
    before = properties.read_text()
    said = run(config, "orders", "upgrade", "--dry-run").stdout
    assert said.startswith("table version 6 to 9\n  first: ")
    assert "log files are compacted" in said
    output = json.loads(run(config, "orders", "upgrade", "--to", "8", "--dry-run", "--json").stdout)
    assert output["dry_run"] is True
    assert [(step["before"], step["after"]) for step in output["plan"]["steps"]] == [(6, 7), (7, 8)]
    assert properties.read_text() == before
    assert run(config, "orders", "downgrade", "--to", "9").exit_code == 2
    assert "version is already 6" in run(config, "orders", "downgrade").stdout


def test_own_tables_are_not_bootstrapped(config):
    assert run(config, "events", "bootstrap", "--source", ".").exit_code == 2

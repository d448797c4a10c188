"""`headwater table NAME describe`, `timeline`, `commits`, ... as commands."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.cli.main import app
from headwater.cli.tables.inspection_text import sample
from headwater.lake.inspection.growth import GrowthPoint
from tests.fixtures.inspection.addresses import TIMELINE, copy_fixture
from tests.fixtures.lakes import FIXTURE_LAKE

COMMANDS = ("describe", "timeline", "commits", "files", "partitions", "size")


def write_config(folder: Path, lake: Path) -> Path:
    path = folder / "headwater.yaml"
    path.write_text(
        f"""
source: {{type: local, path: /landing}}
lake: "{lake}"
tables:
  managed: {{path: "managed/*.json"}}
  orders_cow:
    path: "orders/*.json"
    hoodie: {{hoodie.parquet.small.file.limit: "8165"}}
  archived: {{path: "archived/*.json"}}
  coming: {{path: "coming/*.json"}}
"""
    )
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path, FIXTURE_LAKE)


def run(config: Path, *args: str) -> Result:
    return CliRunner().invoke(app, ["-c", str(config), "table", *args])


def read_json(config: Path, *args: str):
    done = run(config, *args, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_description_has_identity_amounts_and_raw_properties(config):
    output = read_json(config, "orders_cow", "describe")
    assert output["identity"]["record_keys"] == ["order_id"]
    assert (output["rows"], output["commits"], output["totals"]["file_groups"]) == (8, 3, 2)
    assert output["totals"]["small_files"] == 1, "by the limit that the table is written with"
    assert output["properties"]["hoodie.table.type"] == "COPY_ON_WRITE"
    assert {"name": "order_id", "type": "string"} in output["columns"]
    text = run(config, "orders_cow", "describe").stdout
    assert "copy_on_write, table version 9, parquet" in text
    assert "file groups          2, 1 small" in text


def test_timeline_has_a_line_an_action(config):
    lines = run(config, "managed", "timeline").stdout.splitlines()
    assert len(lines) == 13
    assert "rolled back 2026" in next(line for line in lines if "rollback" in line)
    pending = next(line for line in lines if "compaction" in line)
    assert "requested" in pending
    assert "since " in pending
    assert "1 file groups to compact" in pending


def test_timeline_as_json_has_times_counts_and_states(config):
    output = read_json(config, "managed", "timeline")
    assert output["table"] == "managed"
    first, *_ = output["actions"]
    assert first["requested_at"].endswith("Z")
    assert first["written"]["rows_inserted"] == 6
    assert {action["state"] for action in output["actions"]} == {"completed", "requested"}


def test_archived_actions_need_the_option(config):
    assert len(read_json(config, "archived", "timeline")["actions"]) == 3
    assert len(read_json(config, "archived", "timeline", "--archived")["actions"]) == 7


def test_commits_are_limited_and_one_is_printed_completely(config):
    newest, _ = read_json(config, "orders_cow", "commits", "--limit", "2")["commits"]
    assert newest["operation"] == "delete"
    detail = read_json(config, "orders_cow", "commit", newest["instant"])
    assert detail["summary"] == newest
    assert detail["headwater"] == {"step": "third"}
    assert [one["rows_deleted"] for one in detail["files"]] == [1]
    text = run(config, "orders_cow", "commit", newest["instant"]).stdout
    assert Path(detail["files"][0]["path"]).name in text
    assert "third" in text


def test_unknown_commit_is_bad_input_with_the_nearest(config):
    done = run(config, "orders_cow", "commit", "20261121060030194")
    assert done.exit_code == 2
    assert "did you mean 20261121060030193?" in done.stderr


def test_files_are_current_ones_or_all(config):
    current = read_json(config, "orders_cow", "files")
    assert [one["state"] for one in current["slices"]] == ["current", "current"]
    assert current["small_file_limit"] == 8165
    assert len(read_json(config, "orders_cow", "files", "--all")["slices"]) == 5
    text = run(config, "orders_cow", "files", "--all").stdout
    assert "2 file groups in 2 partitions: 2 base files, 0 log files, 16.3 kB" in text
    assert "3 older slices: 24.5 kB" in text
    assert "1 small files (below 8.2 kB)" in text


def test_partitions_are_listed(config):
    output = read_json(config, "orders_cow", "partitions")
    assert {one["partition"]: one["rows"] for one in output["partitions"]} == {"region=eu": 5, "region=us": 3}
    counted = read_json(config, "managed", "partitions", "--count")["partitions"]
    assert [one["rows"] for one in counted] == [3, 1]
    assert "region=us  3" in run(config, "orders_cow", "partitions").stdout
    assert "(none)" in run(config, "archived", "partitions").stdout


def test_size_is_a_bar_a_commit(config):
    done = run(config, "archived", "size")
    assert done.exit_code == 0
    bars = [line.count("#") for line in done.stdout.splitlines()[1:8]]
    assert bars == sorted(bars)
    assert bars[-1] == 30
    output = read_json(config, "archived", "size")
    assert [point["rows"] for point in output["points"]] == [1, 2, 3, 4, 5, 6, 7]


def test_size_is_drawn_to_a_file(config, tmp_path):
    picture = tmp_path / "growth.svg"
    done = run(config, "archived", "size", "--plot", str(picture))
    assert (done.exit_code, picture.read_bytes()[:5]) == (0, b"<?xml")
    assert f"wrote {picture}" in done.stdout


def test_picture_without_matplotlib_is_bad_input(config, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    done = run(config, "archived", "size", "--plot", str(tmp_path / "growth.svg"))
    assert done.exit_code == 2
    assert "pip install 'headwater[plot]'" in done.stderr


def test_rows_not_recorded_by_hudi_are_marked(config):
    text = run(config, "managed", "size").stdout
    assert "~6" in text
    assert "~: estimate; Hudi does not record whether rows in log files are new" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_table_that_is_not_there_yet_is_bad_input(config, command):
    done = run(config, "coming", command, "--json")
    assert done.exit_code == 2
    assert json.loads(done.stderr)["error"] == "TableNotFoundError"


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_table_is_bad_input(config, command):
    done = run(config, "manged", command)
    assert done.exit_code == 2
    assert "did you mean managed?" in done.stderr


@pytest.mark.parametrize("command", ["timeline", "commits", "size"])
def test_corrupt_instant_is_named_and_others_are_printed(tmp_path, command):
    address = copy_fixture("orders_cow", tmp_path)
    damaged = min(Path(address.path, TIMELINE).glob("*.commit"))
    damaged.write_bytes(b"torn")
    done = run(write_config(tmp_path, tmp_path), "orders_cow", command)
    assert done.exit_code == 0
    assert f"commit {damaged.name[:17]} cannot be read" in done.stdout
    assert "20261121060033082" in done.stdout


def test_table_that_its_newest_commit_hides_is_still_described(tmp_path):
    address = copy_fixture("orders_cow", tmp_path)
    max(Path(address.path, TIMELINE).glob("*.commit")).write_bytes(b"torn")
    done = run(write_config(tmp_path, tmp_path), "orders_cow", "describe")
    assert done.exit_code == 0
    assert "record key           order_id" in done.stdout
    assert "problem: " in done.stdout


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (1, 1), (30, 30), (31, 30), (1000, 30)])
def test_sample_of_many_points_has_the_first_and_the_last(count, shown):
    points = [GrowthPoint(str(number), None, None, 0, number, True, 0) for number in range(count)]
    found = sample(points)
    assert len(found) == len({point.instant for point in found}) == shown
    assert found[:1] == points[:1]
    assert found[-1:] == points[-1:]

"""Indexes made and dropped by commands between runs: real processes, one after another."""

import json
from pathlib import Path

import pytest

from tests.fixtures.end_to_end.command import run_json

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

CONFIG = """
source: {type: local, path: source}
lake: lake
tables:
  orders: {path: "*.json", record_key: id, schema: "id string, at bigint", metadata_table: true}
"""
BY_DAY = ("--type", "expression", "-c", "at", "--function", "from_unixtime")


def put(folder: Path, name: str) -> None:
    (folder / "source" / name).write_text(json.dumps({"id": name, "at": 1_767_225_600}))
    run_json("run", "--once", folder=folder)


def states(folder: Path) -> dict[str, str]:
    return {
        one["name"]: one["state"] for one in run_json("table", "orders", "index", folder=folder)["indexes"]
    }


def test_index_is_made_kept_by_the_next_run_and_dropped(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "headwater.yaml").write_text(CONFIG)
    put(tmp_path, "a.json")
    assert "by_day" not in states(tmp_path)
    assert (
        run_json("table", "orders", "index", "create", "by_day", *BY_DAY, folder=tmp_path)["name"] == "by_day"
    )
    put(tmp_path, "b.json")
    assert states(tmp_path)["by_day"] == "built"
    assert run_json("table", "orders", "index", "drop", "by_day", folder=tmp_path)["dropped"] == [
        "expr_index_by_day"
    ]
    put(tmp_path, "c.json")
    assert "by_day" not in states(tmp_path)
    assert run_json("table", "orders", "describe", folder=tmp_path)["rows"] == 3

"""Indexes made and dropped by commands between runs: real processes, one after another."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long

CONFIG = """
source: {type: local, path: source}
lake: lake
tables:
  orders: {path: "*.json", record_key: id, schema: "id string, at bigint", metadata_table: true}
"""
BY_DAY = ("--type", "expression", "-c", "at", "--function", "from_unixtime")


def headwater(folder: Path, *args: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "headwater.cli.main", *args, "--json"],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def put(folder: Path, name: str) -> None:
    (folder / "source" / name).write_text(json.dumps({"id": name, "at": 1_767_225_600}))
    headwater(folder, "run", "--once")


def states(folder: Path) -> dict[str, str]:
    return {one["name"]: one["state"] for one in headwater(folder, "table", "orders", "index")["indexes"]}


def test_index_is_made_kept_by_the_next_run_and_dropped(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "headwater.yaml").write_text(CONFIG)
    put(tmp_path, "a.json")
    assert "by_day" not in states(tmp_path)
    assert headwater(tmp_path, "table", "orders", "index", "create", "by_day", *BY_DAY)["name"] == "by_day"
    put(tmp_path, "b.json")
    assert states(tmp_path)["by_day"] == "built"
    assert headwater(tmp_path, "table", "orders", "index", "drop", "by_day")["dropped"] == [
        "expr_index_by_day"
    ]
    put(tmp_path, "c.json")
    assert "by_day" not in states(tmp_path)
    assert headwater(tmp_path, "table", "orders", "describe")["rows"] == 3

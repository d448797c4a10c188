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
  orders: {path: "*.json", record_key: id, schema: "id string, name string", metadata_table: true}
"""
LOW = (
    "table",
    "orders",
    "index",
    "create",
    "low",
    "--type",
    "expression",
    "-c",
    "name",
    "--function",
    "lower",
)


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
    (folder / "source" / name).write_text(json.dumps({"id": name, "name": name.upper()}))
    headwater(folder, "run", "--once")


def states(folder: Path) -> dict[str, str]:
    return {one["name"]: one["state"] for one in headwater(folder, "table", "orders", "index")["indexes"]}


def test_index_is_made_kept_by_the_next_run_and_dropped(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "headwater.yaml").write_text(CONFIG)
    put(tmp_path, "a.json")
    assert "low" not in states(tmp_path)
    assert headwater(tmp_path, *LOW)["partition"] == "expr_index_low"
    put(tmp_path, "b.json")
    assert states(tmp_path)["low"] == "built"
    assert headwater(tmp_path, "table", "orders", "index", "drop", "low")["dropped"] == ["expr_index_low"]
    put(tmp_path, "c.json")
    assert "low" not in states(tmp_path)
    assert headwater(tmp_path, "table", "orders", "describe")["rows"] == 3

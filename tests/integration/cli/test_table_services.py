"""A table looked after by commands, as its owner does it: real processes, one after another."""

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
  orders: {path: "*.json", mode: mirror, table_type: merge_on_read}
"""


def headwater(folder: Path, *args: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "headwater.cli.main", *args, "--json"],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if args[0] != "sql" else [json.loads(x) for x in done.stdout.splitlines()]


def put(folder: Path, name: str, n: int) -> None:
    (folder / "source" / name).write_text(json.dumps({"n": n}))
    headwater(folder, "run", "--once")


def rows(folder: Path) -> list[int]:
    return [row["n"] for row in headwater(folder, "sql", "select n from orders order by n")]


def test_table_is_compacted_kept_set_back_and_taken_up_again(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "headwater.yaml").write_text(CONFIG)
    put(tmp_path, "a.json", 1)
    put(tmp_path, "a.json", 2)
    assert headwater(tmp_path, "table", "orders", "compact", "--dry-run")["found"]["files"] > 0
    assert len(headwater(tmp_path, "table", "orders", "compact")["instants"]) == 1
    assert headwater(tmp_path, "table", "orders", "compact", "--dry-run")["found"]["files"] == 0
    made = headwater(tmp_path, "table", "orders", "savepoint", "-m", "two")["savepoint"]["instant"]
    put(tmp_path, "b.json", 3)
    assert rows(tmp_path) == [2, 3]
    would = headwater(tmp_path, "table", "orders", "restore", made, "--dry-run")["commits"]
    assert headwater(tmp_path, "table", "orders", "restore", made)["commits"] == would != []
    assert rows(tmp_path) == [2]
    headwater(tmp_path, "run", "--once")
    assert rows(tmp_path) == [2, 3]
    headwater(tmp_path, "verify")

"""A table looked after by commands, as its owner does it: real processes, one after another."""

import json
from pathlib import Path

import pytest

from tests.fixtures.end_to_end.command import run_command, run_json

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

CONFIG = """
source: {type: local, path: source}
lake: lake
tables:
  orders: {path: "*.json", mode: mirror, table_type: merge_on_read}
"""


def put(folder: Path, name: str, n: int) -> None:
    (folder / "source" / name).write_text(json.dumps({"n": n}))
    run_json("run", "--once", folder=folder)


def rows(folder: Path) -> list[int]:
    output = run_command("sql", "select n from orders order by n", "--json", folder=folder).expect(0)
    return [json.loads(line)["n"] for line in output.stdout.splitlines()]


def test_table_is_compacted_kept_set_back_and_taken_up_again(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "headwater.yaml").write_text(CONFIG)
    put(tmp_path, "a.json", 1)
    put(tmp_path, "a.json", 2)
    assert run_json("table", "orders", "compact", "--dry-run", folder=tmp_path)["found"]["files"] > 0
    assert len(run_json("table", "orders", "compact", folder=tmp_path)["instants"]) == 1
    assert run_json("table", "orders", "compact", "--dry-run", folder=tmp_path)["found"]["files"] == 0
    made = run_json("table", "orders", "savepoint", "-m", "two", folder=tmp_path)["savepoint"]["instant"]
    put(tmp_path, "b.json", 3)
    assert rows(tmp_path) == [2, 3]
    would = run_json("table", "orders", "restore", made, "--dry-run", folder=tmp_path)["commits"]
    assert run_json("table", "orders", "restore", made, folder=tmp_path)["commits"] == would != []
    assert rows(tmp_path) == [2]
    run_json("run", "--once", folder=tmp_path)
    assert rows(tmp_path) == [2, 3]
    run_json("verify", folder=tmp_path)


DAYS = """
source: {type: local, path: source}
lake: lake
tables:
  orders: {path: "*.json", partition: day, metadata_table: true, keep_partition_days: 30}
"""


def test_metadata_table_is_validated_and_rebuilt_and_partitions_are_asked_for_their_age(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "headwater.yaml").write_text(DAYS)
    (tmp_path / "source" / "a.json").write_text('{"n": 1, "day": "mo"}')
    run_json("run", "--once", folder=tmp_path)
    assert run_json("table", "orders", "expire", "--dry-run", folder=tmp_path)["partitions"] == []
    (file,) = (tmp_path / "lake" / "orders").glob("day=mo/*.parquet")
    file.rename(file.with_name("hidden"))
    wrong = run_command("table", "orders", "metadata", "validate", folder=tmp_path).expect(1)
    assert f"in the metadata table only: day=mo/{file.name}" in wrong.stdout
    file.with_name("hidden").rename(file)
    built = run_json("table", "orders", "metadata", "rebuild", folder=tmp_path)
    assert "files" in built["after"]
    assert rows(tmp_path) == [1]

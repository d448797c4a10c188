"""Delta and Iceberg tables as the how-to has them, with kills around the commits of derived tables."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.fixtures.end_to_end.command import run_command, run_json
from tests.fixtures.medallion.other_tables import OtherDelta, OtherIceberg

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

PAGE = (Path(__file__).parents[3] / "docs/how-to/medallion.md").read_text("utf-8")
(CONFIGURATION,) = [text for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "{delta: w" in text]


def run(folder: Path, crash_point: str = "") -> int:
    environ = {**os.environ, "HEADWATER_CRASH_POINT": crash_point}
    return run_command("run", "--once", folder=folder, environ=environ, timeout=400).exit_code


def read(folder: Path, statement: str) -> list[Any]:
    lines = run_command("sql", "--json", statement, folder=folder).expect(0).stdout.splitlines()
    return [tuple(json.loads(line).values()) for line in lines]


def check(folder: Path, orders: OtherDelta, returns: OtherIceberg) -> None:
    assert read(folder, "select id, shop, at from orders order by id") == sorted(orders.rows.values())
    shops = [row[1] for row in returns.rows.values()]
    groups = [(shop, shops.count(shop)) for shop in sorted(set(shops))]
    assert read(folder, "select shop, returned from shops order by shop") == groups


def test_a_kill_between_read_and_commit_loses_and_doubles_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "headwater.yaml").write_text(CONFIGURATION)
    (tmp_path / "landing").mkdir()
    (tmp_path / "warehouse").mkdir()
    orders = OtherDelta(spark, tmp_path / "warehouse/orders")
    returns = OtherIceberg(spark, tmp_path / "warehouse/returns")
    for table in (orders, returns):
        table.upsert([(1, "a", 1), (2, "a", 2), (3, "b", 3)])
    assert run(tmp_path, "before_derived_commit") < 0
    assert run(tmp_path) == 0
    check(tmp_path, orders, returns)
    for place in ("before_derived_commit", "after_derived_commit"):
        for table in (orders, returns):
            at = max(row[2] for row in table.rows.values()) + 1
            table.upsert([(1, "c", at), (at, "b", at)])
            table.delete(min(table.rows.keys() - {1}))
        assert run(tmp_path, place) < 0, f"not killed at {place}"
    assert run(tmp_path) == 0
    check(tmp_path, orders, returns)
    status = run_json("status", folder=tmp_path)["tables"]
    assert [(status[name]["follows"], status[name]["lag_commits"]) for name in ("orders", "shops")] == [
        (orders.path, 0),
        (returns.path, 0),
    ]
    assert run_json("verify", folder=tmp_path)["derived"]["orders"]["behind"] == 0
    assert run_command("config", "check", folder=tmp_path).exit_code == 0

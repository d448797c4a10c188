"""Bronze, silver and gold as the how-to has them, killed on the way: they end as a fold of the files says."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.fixtures.end_to_end.command import run_command, run_json

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

PAGE = (Path(__file__).parents[3] / "docs/how-to/medallion.md").read_text("utf-8")
CONFIGURATION = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
BY_GROUPS = CONFIGURATION.replace("refresh: full", "refresh: changed_keys")
Row = dict[str, Any]


def order(number: int, city: str, price: int, *, paid: bool = True) -> Row:
    return {"order_id": number, "city": city, "price": price, "count": 2, "paid": paid}


# Each round replaces files, and ends where the process is killed: between the commits of silver and gold, and
# after the first commit of the two while the other one is at work.
ROUNDS = (
    (
        "before_derived_commit:2",
        {
            "a": [order(1, "Oslo", 5), order(2, "Rome", 7)],
            "b": [order(3, "Lima", 1)],
            "c": [order(4, "Rome", 4)],
        },
    ),
    (
        "after_derived_commit",
        {"a": [order(1, "Oslo", 6), order(2, "Rome", 7, paid=False)], "b": [order(5, "Bern", 3)]},
    ),
)


def run(folder: Path, crash_point: str = "") -> int:
    environ = {**os.environ, "HEADWATER_CRASH_POINT": crash_point}
    return run_command("run", "--once", folder=folder, environ=environ, timeout=400).exit_code


def fold(files: dict[str, list[Row]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Silver and gold, from the files that there are."""
    rows = pd.DataFrame([row for name in sorted(files) for row in files[name]])
    paid = rows[rows["paid"]]
    silver = pd.DataFrame(
        {
            "order_id": paid["order_id"],
            "city": paid["city"].str.upper(),
            "total": paid["price"] * paid["count"],
        }
    )
    gold = silver.groupby("city", as_index=False).agg(orders=("order_id", "count"), total=("total", "sum"))
    return silver.sort_values("order_id"), gold


def read(folder: Path, statement: str) -> list[Row]:
    lines = run_command("sql", "--json", statement, folder=folder).expect(0).stdout.splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("configuration", [CONFIGURATION, BY_GROUPS], ids=["full", "changed_keys"])
def test_a_chain_that_is_killed_everywhere_ends_as_the_files_say(tmp_path: Path, configuration: str) -> None:
    (tmp_path / "headwater.yaml").write_text(configuration)
    landing, files = tmp_path / "landing/orders", {}
    landing.mkdir(parents=True)
    for place, changes in ROUNDS:
        for name, rows in changes.items():
            files[name] = rows
            (landing / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert run(tmp_path, place) < 0, f"not killed at {place}"

    assert run(tmp_path) == 0
    silver, gold = fold(files)
    assert read(
        tmp_path, "select order_id, city, total from paid_orders order by order_id"
    ) == silver.to_dict("records")
    assert read(tmp_path, "select city, orders, total from city_totals order by city") == gold.to_dict(
        "records"
    )
    status = run_json("status", folder=tmp_path)["tables"]
    assert {name: table["lag_commits"] for name, table in status.items()} == dict.fromkeys(status, 0)
    check_other_commands(tmp_path)


def check_other_commands(folder: Path) -> None:
    """None of them takes a derived table for one that is built from objects."""
    found = run_json("verify", folder=folder)
    assert (found["complete"], list(found["tables"])) == (True, ["orders"])
    followed = found["derived"]["city_totals"]
    assert (followed["source"], followed["behind"]) == ("paid_orders", 0)
    edges = {(edge["source"], edge["target"]) for edge in run_json("lineage", folder=folder)["edges"]}
    assert {("orders", "paid_orders"), ("paid_orders", "city_totals")} <= edges
    assert "from: paid_orders" in run_command("config", "check", folder=folder).expect(0).stdout
    refused = run_command("transform", "city_totals", folder=folder).expect(2)
    assert "is built from table 'paid_orders'" in refused.stderr

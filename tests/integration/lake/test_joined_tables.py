"""A table of two tables as the how-to has it, killed around its commits: it ends as the files say."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.end_to_end.command import run_command, run_json

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

PAGE = (Path(__file__).parents[3] / "docs/how-to/medallion.md").read_text("utf-8")
(CONFIGURATION,) = [text for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "[orders," in text]
Row = dict[str, Any]


def order(number: int, customer: int, price: int) -> Row:
    return {"order_id": number, "customer_id": customer, "price": price}


def customer(number: int, name: str) -> Row:
    return {"id": number, "name": name}


# Each round replaces or removes files (None), and ends where the process is killed.
ROUNDS: tuple[tuple[str, dict[str, list[Row] | None]], ...] = (
    (
        "before_derived_commit",
        {
            "orders/a": [order(1, 1, 5), order(2, 2, 7)],
            "orders/b": [order(3, 3, 1)],
            "customers/a": [customer(1, "Ann"), customer(2, "Bob")],
            "customers/b": [customer(3, "Cid")],
        },
    ),
    # An order moves to another customer, and a customer is deleted: both tables change in one batch.
    ("after_derived_commit", {"orders/a": [order(1, 2, 6), order(2, 2, 7)], "customers/b": None}),
    ("before_derived_commit", {"customers/a": [customer(1, "Ann"), customer(4, "Dan")]}),
)


def run(folder: Path, crash_point: str = "") -> int:
    environ = {**os.environ, "HEADWATER_CRASH_POINT": crash_point}
    return run_command("run", "--once", folder=folder, environ=environ, timeout=400).exit_code


def put(folder: Path, name: str, rows: list[Row] | None) -> None:
    path = folder / f"landing/{name}.json"
    if rows is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def fold(files: dict[str, list[Row] | None]) -> list[Row]:
    """The result, from the files that there are."""
    orders, customers = (
        [row for name, rows in files.items() if name.startswith(table) for row in rows or ()]
        for table in ("orders", "customers")
    )
    found = []
    for one in sorted(customers, key=lambda row: int(row["id"])):
        prices = [row["price"] for row in orders if row["customer_id"] == one["id"]]
        total = {"orders": len(prices), "total": sum(prices)}
        found.append({"customer_id": one["id"], "name": one["name"], **total})
    return found


def read(folder: Path) -> list[Row]:
    statement = "select customer_id, name, orders, total from customer_totals order by customer_id"
    lines = run_command("sql", "--json", statement, folder=folder).expect(0).stdout.splitlines()
    return [json.loads(line) for line in lines]


def list_cuts(versions: list[dict[str, list[Row] | None]]) -> list[list[Row]]:
    """The results for every pair of a version of the orders and one of the customers."""
    return [
        fold(
            {name: rows for name, rows in orders.items() if name.startswith("orders")}
            | {name: rows for name, rows in customers.items() if name.startswith("customers")}
        )
        for orders in versions
        for customers in versions
    ]


def test_a_join_that_is_killed_ends_as_the_files_say(tmp_path: Path) -> None:
    (tmp_path / "headwater.yaml").write_text(CONFIGURATION)
    versions: list[dict[str, list[Row] | None]] = [{}]
    for place, changes in ROUNDS:
        for name, rows in changes.items():
            put(tmp_path, name, rows)
        versions.append({**versions[-1], **changes})
        assert run(tmp_path, place) < 0, f"not killed at {place}"
        # A batch is committed completely or not at all, so the rows are those of one state of each table.
        if place == "after_derived_commit":
            assert read(tmp_path) in list_cuts(versions)
    assert run(tmp_path) == 0
    assert read(tmp_path) == fold(versions[-1])
    check_other_commands(tmp_path)


def check_other_commands(folder: Path) -> None:
    status = run_json("status", folder=folder)["tables"]["customer_totals"]
    assert (status["follows"], status["lag_commits"]) == ("orders, customers", 0)
    assert [found["source"] for found in status["inputs"]] == ["orders", "customers"]
    assert "0 commits of orders, 0 commits of customers" in run_command("status", folder=folder).stdout
    verified = run_json("verify", folder=folder)
    assert (verified["complete"], verified["derived"]["customer_totals"]["behind"]) == (True, 0)
    edges = {(edge["source"], edge["target"]) for edge in run_json("lineage", folder=folder)["edges"]}
    assert {("orders", "customer_totals"), ("customers", "customer_totals")} <= edges
    assert "from: [orders, customers]" in run_command("config", "check", folder=folder).expect(0).stdout
    refused = run_command("transform", "customer_totals", folder=folder).expect(2)
    assert "is built from table 'orders' and 'customers'" in refused.stderr

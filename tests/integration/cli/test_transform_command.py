"""Steps tried on a sample and a run with checks, as their author does it: real processes."""

import json

import pytest

from tests.fixtures.end_to_end.command import run_command

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

CONFIG = """
source: {type: local, path: source}
lake: lake
tables:
  orders:
    path: "orders/*.csv"
    options: {header: true}
    record_key: id
    transform:
      - sql: select _headwater_source, id, upper(name) as name, price from input where price is not null
      - name: with tax
        python: taxes:add_tax
    checks:
      - {name: prices, range: {column: price, min: 0}, on_failure: warn}
  items:
    path: "items/*.json"
    transform:
      - sql: select _headwater_source, sku from input
    checks:
      - unique: sku
"""
MODULE = "def add_tax(df):\n    return df.selectExpr('*', 'price * 1.25 as gross')\n"


def headwater(folder, *args):
    return run_command(*args, "--json", folder=folder)


def test_transforms_run_and_a_failing_check_stops_only_its_table(tmp_path):
    for name in ("orders", "items"):
        (tmp_path / "source" / name).mkdir(parents=True)
    (tmp_path / "headwater.yaml").write_text(CONFIG)
    done = headwater(tmp_path, "run", "--once")
    assert done.exit_code == 2
    assert "tables.orders.transform[1].python: there is no module 'taxes'" in done.stderr
    (tmp_path / "taxes.py").write_text(MODULE)

    sample = tmp_path / "sample.json"
    sample.write_text('{"id": 1, "name": "a", "price": 4.0}\n{"id": 2, "name": "b"}\n')
    done = headwater(tmp_path, "transform", "orders", "--sample", "sample.json", "--limit", "5")
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    assert [(part["step"], part["name"], len(part["rows"])) for part in report["steps"]] == [
        (0, "input", 2), (1, "step 1 (sql)", 1), (2, "step 'with tax'", 1),
    ]  # fmt: skip
    assert report["steps"][2]["rows"] == [{"id": 1, "name": "A", "price": 4.0, "gross": 5.0}]
    assert report["steps"][2]["columns"][3] == {"name": "gross", "type": "double"}
    assert not (tmp_path / "lake").exists()

    (tmp_path / "source/orders/a.csv").write_text("id,name,price\n1,a,-4.0\n2,b,\n")
    (tmp_path / "source/items/a.json").write_text('{"sku": "x"}\n{"sku": "x"}\n')
    done = headwater(tmp_path, "run", "--once")
    assert done.exit_code == 1
    error = json.loads(done.stderr.splitlines()[-1])
    assert error["error"] == "CheckFailedError"
    assert "table items: check 1 (unique): 1 values of (sku) occur more than once" in error["message"]
    assert "table orders: check 'prices': 1 of 1 rows: price is below 0" in done.stderr
    assert json.loads(done.stdout)["tables"]["orders"]["rows"] == 1
    rows = headwater(tmp_path, "sql", "select id, name, gross from orders").stdout
    assert json.loads(rows) == {"id": 1, "name": "A", "gross": -5.0}
    assert not (tmp_path / "lake/items").exists()
    newest = json.loads(headwater(tmp_path, "transform", "orders").expect(0).stdout)
    assert [row["id"] for row in newest["steps"][0]["rows"]] == [1, 2]
    assert [row["name"] for row in newest["steps"][1]["rows"]] == ["A"]

    (tmp_path / "source/items/a.json").write_text('{"sku": "x"}\n{"sku": "y"}\n')
    assert headwater(tmp_path, "run", "--once").exit_code == 0
    rows = headwater(tmp_path, "sql", "select sku from items order by sku").stdout
    assert [json.loads(row)["sku"] for row in rows.splitlines()] == ["x", "y"]

"""`start_from: latest` with kills before the first commit, and `skip-to`, as real processes."""

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.fixtures.end_to_end.product import Product

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def product(tmp_path: Path) -> Product:
    """A folder, of which another table has ingested a file."""
    (tmp_path / "landing").mkdir()
    source = {"type": "local", "path": str(tmp_path / "landing")}
    product = Product(tmp_path, source, {"every": {"path": "**", "format": "binary"}}, os.environ)
    put(product, "old")
    product.run_once().expect(0)
    product.config["tables"] = {"late": {"path": "*.json", "mode": "mirror", "start_from": "latest"}}
    product.write_config()
    return product


def put(product: Product, name: str) -> None:
    (product.folder / "landing" / f"{name}.json").write_text(f'{{"id": "{name}"}}\n')


def test_the_start_is_decided_once_whenever_the_process_is_killed(product: Product) -> None:
    # Killed before the start is stored: nothing is captured yet, either.
    assert product.run_once(crash_point="before_ledger_commit").was_killed
    put(product, "first")
    for name in ("second", "third"):
        # Killed between the start and the first commit of the table.
        assert product.run_once(crash_point="before_data_commit").was_killed
        assert product.records("late") == []
        put(product, name)
    product.run_once().expect(0)
    assert product.rows("late", "id") == Counter([("first",), ("second",), ("third",)])
    found = product.read_json("verify")["tables"]["late"]
    assert (found["ingested"], found["skipped"], found["missing"]) == (3, 1, 0)
    assert "skipped     late: events committed up to 20" in product.command("status").expect(0).stdout


def test_skipped_events_are_not_ingested_until_they_are_replayed(product: Product) -> None:
    put(product, "first")
    product.run_once().expect(0)
    refused = product.command("skip-to", "latest", "--table", "late").expect(2)
    assert "table late has already processed the events up to 20" in refused.stderr
    put(product, "second")
    product.start("run", "--once", "--only", "capture").finish(120).expect(0)
    skipped = product.command("skip-to", "latest", "--table", "late").expect(0).stdout.splitlines()
    assert skipped[0] == "skipped the events of 1 objects"
    put(product, "third")
    product.run_once().expect(0)
    assert product.rows("late", "id") == Counter([("first",), ("third",)])
    undo = skipped[1].removeprefix("Undo: headwater ").split()
    product.command(*undo, timeout=120).expect(0)
    assert product.rows("late", "id") == Counter([("first",), ("second",), ("third",)])


def test_the_start_is_that_of_the_process_that_feeds_the_table(product: Product) -> None:
    def run(role: str) -> None:
        product.start("run", "--once", "--only", role).finish(120).expect(0)

    # A process that only captures decides nothing for a table that has never run.
    put(product, "before")
    run("capture")
    run("tables")
    put(product, "after")
    run("capture")
    run("tables")
    assert product.rows("late", "id") == Counter([("after",)])

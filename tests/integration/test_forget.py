"""`headwater forget` as real processes: killed at each step, repeated, replayed, restored, checked."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from tests.fixtures.end_to_end.product import Product

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

POINTS = ("after_suppression", "after_forget_delete", "after_forget_clean")
KEPT = Counter([(1, "ann"), (4, "cleo")])


@pytest.fixture
def product(tmp_path: Path) -> Product:
    (tmp_path / "landing").mkdir()
    source = {"type": "local", "path": str(tmp_path / "landing")}
    product = Product(tmp_path, source, {"orders": {"path": "*.json", "mode": "mirror"}}, os.environ)
    put(product, "a", (1, "ann"), (2, "bob"))
    put(product, "b", (3, "bob"), (4, "cleo"))
    product.run_once().expect(0)
    return product


def put(product: Product, name: str, *rows: tuple[int, str]) -> None:
    text = "".join(json.dumps({"id": at, "customer": customer}) + "\n" for at, customer in rows)
    (product.folder / "landing" / f"{name}.json").write_text(text)


def test_killed_erasure_is_repeated_and_nothing_restores_the_rows(product: Product) -> None:
    forget = ("forget", "orders", "--by", "customer", "--key", "bob")
    planned = product.command(*forget, timeout=120).expect(0).stdout
    assert "orders: 2 rows would be deleted" in planned
    assert len(product.rows("orders", "id")) == 4
    for point in POINTS:
        killed = product.start(*forget, "--yes", crash_point=point).finish(180)
        assert killed.was_killed, killed.stderr
    done = product.read_json(*forget, "--yes")
    (report,) = done["reports"]
    assert report["erased"], report
    assert [Path(uri).name for uri in report["objects"]] == ["a.json", "b.json"]
    assert product.rows("orders", "id", "customer") == KEPT
    assert product.read_json("verify", "--deep")["complete"]
    put(product, "c", (5, "bob"))
    product.run_once().expect(0)
    product.command("replay", "--since", "1d", "--table", "orders", timeout=180).expect(0)
    assert product.rows("orders", "id", "customer") == KEPT
    assert product.read_json("verify", "--deep")["complete"]
    assert "valid" in product.command("forget", "orders", "--check", report["address"]).expect(0).stdout
    assert "bob" not in json.dumps(report)

"""`headwater rehearse` as real processes: next to a run, killed in a shadow, repeated, applied."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from headwater.lake.layout import rehearsal_path
from tests.fixtures.end_to_end.product import Product

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def product(tmp_path: Path) -> Product:
    (tmp_path / "landing").mkdir()
    source = {"type": "local", "path": str(tmp_path / "landing")}
    product = Product(tmp_path, source, {"orders": {"path": "*.json", "mode": "mirror"}}, os.environ)
    for name, rows in (("a", [(1, "ann"), (2, "bob")]), ("b", [(3, "bob")])):
        text = "".join(json.dumps({"id": at, "customer": customer}) + "\n" for at, customer in rows)
        (tmp_path / "landing" / f"{name}.json").write_text(text)
    product.run_once().expect(0)
    return product


def write_edit(product: Product, **options: object) -> Path:
    edited = json.loads(product.config_path.read_text())
    edited["tables"]["orders"] |= options
    path = product.folder / "new.yaml"
    path.write_text(json.dumps(edited))
    return path


def list_files(product: Product) -> dict[str, int]:
    leases = product.lake / "_headwater" / "writers"
    files = [path for path in product.lake.rglob("*") if path.is_file() and leases not in path.parents]
    return {str(path): path.stat().st_mtime_ns for path in files}


def test_killed_rehearsal_changes_no_table_and_the_next_one_is_applied(product: Product) -> None:
    new = write_edit(product, transform=[{"sql": "select * from input where customer <> 'bob' or id = 3"}])
    files, shadow = list_files(product), Path(rehearsal_path(str(product.lake)))
    for point in ("before_data_commit:1", "after_data_commit:2"):
        killed = product.start("rehearse", "--with", str(new), crash_point=point).finish(180)
        assert killed.was_killed, killed.stderr
        assert shadow.exists()
        left = {path: time for path, time in list_files(product).items() if str(shadow) not in path}
        assert left == files
    report = json.loads(
        product.command("rehearse", "--with", str(new), "--json", timeout=180).expect(3).stdout
    )
    assert not shadow.exists()
    assert list_files(product) == files
    rows = report["tables"]["orders"]["rows"]
    assert (rows["equal"], rows["changed"], rows["only_now"], rows["only_new"]) == (2, 0, 1, 0)
    text = product.command("rehearse", "--with", str(new), timeout=180).expect(3).stdout
    assert "headwater replay --table orders --since 1970-01-01" in text
    old = product.config_path.read_text()
    done = product.command("rehearse", "--with", str(new), "--apply", timeout=240).expect(0).stdout
    backup = product.folder / "headwater.yaml.before-1"
    assert str(backup) in done
    assert (product.config_path.read_text(), backup.read_text()) == (new.read_text(), old)
    assert product.rows("orders", "id") == Counter([(1,), (3,)])
    assert product.read_json("verify", "--deep")["complete"]
    product.command("rehearse", "--with", str(new), "--table", "orders", timeout=180).expect(0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_rehearsal_leaves_nothing(product: Product, number: signal.Signals) -> None:
    new = write_edit(product, transform=[{"sql": "select * from input where id > 1"}])
    files, shadow = list_files(product), Path(rehearsal_path(str(product.lake)))
    running = product.start("rehearse", "--with", str(new))
    running.wait_until((shadow / "now").exists, "files of the first shadow")
    running.signal(number)
    running.finish(120).expect(1)
    assert not shadow.exists()
    assert list_files(product) == files


def test_python_of_the_page_prints_the_report(product: Product) -> None:
    write_edit(product, transform=[{"sql": "select * from input where id > 1"}])
    page = Path(__file__).parents[2] / "docs/how-to/rehearse.md"
    (example,) = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    words = [sys.executable, "-c", example]
    done = subprocess.run(words, cwd=product.folder, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True {'orders': TableRehearsal(state='changed'"), done.stdout


def test_rebuild_is_not_applied(product: Product) -> None:
    new, old = write_edit(product, mode="merge", record_key="id"), product.config_path.read_text()
    refused = product.command("rehearse", "--with", str(new), "--apply", timeout=240).expect(2)
    assert (
        "record_key is _headwater_object,_headwater_row in the table, and id in the new file"
        in refused.stdout
    )
    assert "table orders has to be rebuilt" in refused.stderr
    assert product.config_path.read_text() == old
    assert product.rows("orders", "id") == Counter([(1,), (2,), (3,)])


def test_rules_that_would_empty_a_table_are_not_applied(product: Product) -> None:
    new, old = write_edit(product, path="none/*.json"), product.config_path.read_text()
    refused = product.command("rehearse", "--with", str(new), "--apply", timeout=240).expect(2)
    assert "not applied: table orders: its rules would retract all of its 2 objects" in refused.stderr
    assert product.config_path.read_text() == old
    assert product.rows("orders", "id") == Counter([(1,), (2,), (3,)])

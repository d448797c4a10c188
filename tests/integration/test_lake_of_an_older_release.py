"""A lake that commit 4761fd1 wrote is continued without any action of the user.

The archive has its source folder, too. Two runs of that commit wrote tables of every mode and type, the
ledger, the quarantine and chunks: `a.json` was overwritten, `gone.json` removed, `bad.json` is no JSON, and
`half.json` has a bad record.
"""

import json
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ARCHIVE = Path(__file__).parents[1] / "fixtures/tables/lake_of_an_older_release.tar.xz"
CONFIG = """\
source: {type: local, path: landing, moved_from: /data/landing}
lake: lake
tables:
  latest: {path: "orders/*.json", record_key: id, table_type: merge_on_read}
  mirror: {path: "orders/*.json", mode: mirror}
  mirror_of_logs: {path: "orders/*.json", mode: mirror, table_type: merge_on_read}
  log: {path: "orders/*.json", mode: append}
  products: {path: "products/*.json", record_key: sku}
search: {table: products, text: [title], id: sku}
"""
ORDERS = ("latest", "mirror", "mirror_of_logs", "log")
BEFORE = {
    "latest": [(1, "A"), (2, "b"), (3, "c"), (4, "d")],
    "mirror": [(1, "A"), (4, "d")],
    "mirror_of_logs": [(1, "A"), (4, "d")],
    "log": [(1, "A"), (1, "a"), (2, "b"), (3, "c"), (4, "d")],
}
# The archive's files are copies, and that commit's events have no digests of them: an append table cannot
# know that nothing new was put, and ingests them once more.
COPIED = BEFORE | {"log": sorted([*BEFORE["log"], (1, "A"), (4, "d")])}
AFTER = {
    "latest": [(1, "A"), (2, "b"), (3, "c"), (4, "D"), (5, "e")],
    "mirror": [(4, "D"), (5, "e")],
    "mirror_of_logs": [(4, "D"), (5, "e")],
    "log": sorted([*COPIED["log"], (4, "D"), (5, "e")]),
}


class OlderLake:
    """The lake in a folder of its own, as a user has it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(folder, filter="data")
        (folder / "headwater.yaml").write_text(CONFIG)

    def call(self, *words: str, code: int) -> str:
        command = [sys.executable, "-m", "headwater.cli.main", *words]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    def rows(self, statement: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.call("sql", statement, "--json", code=0).splitlines()]

    def orders(self) -> dict[str, list[tuple[int, str]]]:
        return {
            name: sorted((row["id"], row["v"]) for row in self.rows(f"select id, v from {name}"))
            for name in ORDERS
        }

    def quarantined(self) -> Counter[tuple[str, str]]:
        return Counter((row["table"], row["key"]) for row in self.rows('select "table", key from quarantine'))


def test_tables_ledger_quarantine_and_chunks_are_continued(tmp_path: Path) -> None:
    lake = OlderLake(tmp_path)
    assert lake.orders() == BEFORE
    bad = Counter((name, f"orders/{key}.json") for name in ORDERS for key in ("bad", "half"))
    assert lake.quarantined() == bad

    # Exit code 3: what was quarantined still is.
    lake.call("run", "--once", code=3)
    assert lake.orders() == COPIED
    lake.call("verify", "--deep", code=3)

    orders = tmp_path / "landing/orders"
    (orders / "half.json").write_text('{"id": 4, "v": "D"}\n')
    (orders / "new.json").write_text('{"id": 5, "v": "e"}\n')
    (orders / "a.json").unlink()
    (orders / "bad.json").unlink()
    (tmp_path / "landing/products/p.json").write_text('{"sku": "s1", "title": "red kettle"}\n')
    lake.call("run", "--once", code=3)
    assert lake.orders() == AFTER
    (chunk,) = lake.rows("select text from chunks")
    assert "red kettle" in chunk["text"]
    output = json.loads(lake.call("verify", "--deep", "--json", code=0))
    assert {
        name: table["wrong_rows"] + table["missing"] for name, table in output["tables"].items()
    } == dict.fromkeys([*ORDERS, "products"], 0)

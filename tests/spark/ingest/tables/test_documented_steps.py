"""The page about transform and checks shows what really happens."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from headwater.lake.transforms.checking import check_processing

pytestmark = pytest.mark.long

PAGE = (Path(__file__).parents[4] / "docs/how-to/transform-and-check.md").read_text("utf-8")


def block(language: str) -> str:
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return blocks[0]


def documented_rows() -> tuple[list[str], list[tuple[str, ...]]]:
    lines = PAGE.split("gives these rows")[1].split("Try transforms")[0].splitlines()
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines if line[:1] == "|"]
    return list(cells[0]), cells[2:]


def test_example_gives_the_rows_that_the_page_shows(build, monkeypatch):
    monkeypatch.setenv("HEADWATER_HASH_SALT", "pepper")
    tables = YAML(typ="safe").load(block("yaml"))["tables"]
    lake = build(**tables)
    check_processing(lake.settings, {"HEADWATER_HASH_SALT": "pepper"})
    lake.put("orders/1.json", block("json"))
    (result,) = lake.ingest("order_lines")
    names, rows = documented_rows()
    found = [tuple(map(str, row)) for row in lake.rows("order_lines", *names)]
    assert sorted(found) == sorted(rows)
    assert result.warnings == ()
    assert lake.quarantine("line", "reason") == [(3, "failed_check")]
    assert len(lake.rows("order_lines", "customer_email")[0][0]) == 64

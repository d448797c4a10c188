"""Each feature in the table of CONTRIBUTING.md has a test that is not long: CI runs it with each commit."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"^\| (.+) \| `(\S+\.py)`, `(test_\w+)` \|$", re.MULTILINE)
CANARIES = ROW.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))


def test_every_row_of_the_table_is_read() -> None:
    assert len(CANARIES) == 16


@pytest.mark.parametrize(("feature", "file", "name"), CANARIES, ids=[row[0] for row in CANARIES])
def test_the_test_of_a_feature_is_not_long(feature: str, file: str, name: str) -> None:
    path = ROOT / file if file.startswith("tests/") else ROOT / "tests/spark" / file
    tree = ast.parse(path.read_text("utf-8"))
    [test] = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    marks = [ast.unparse(mark) for mark in test.decorator_list]
    marks += [ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign) and is_pytestmark(node)]
    # Of a parametrised test some cases may be long, with a mark of their own.
    assert not [mark for mark in marks if "mark.long" in mark and "parametrize" not in mark]


def is_pytestmark(node: ast.Assign) -> bool:
    return ast.unparse(node.targets[0]) == "pytestmark"

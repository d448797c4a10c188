"""The headings of the page of errors are texts of the code, and the page has what a reader needs of each."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/how-to/troubleshooting.md").read_text("utf-8")
HEADINGS = re.findall(r"^### `(.+)`$", PAGE, re.MULTILINE)
# Words in capitals stand for values.
VALUE = re.compile(r"\b[A-Z][A-Z_]+\b")


@cache
def read_texts() -> str:
    files = (ROOT / "src/headwater").rglob("*.py")
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8"))))
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return "\n".join(texts)


@pytest.mark.parametrize("heading", HEADINGS)
def test_fixed_parts_of_a_heading_are_in_the_code(heading: str) -> None:
    parts = [part.strip(" :()") for part in VALUE.split(heading)]
    fixed = [part for part in parts if len(part) > 8]
    assert fixed
    assert [part for part in fixed if part not in read_texts()] == []


def test_page_has_cause_and_fix_for_twenty_errors() -> None:
    assert len(HEADINGS) >= 20
    sections = re.split(r"^##+ ", PAGE, flags=re.MULTILINE)
    errors = [section for section in sections if section.startswith("`")]
    assert [text[:40] for text in errors if "**Cause.**" not in text or "**Fix.**" not in text] == []

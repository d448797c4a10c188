"""Drawings of the documents are complete files, legible on light and on dark pages, and shown by a page."""

from pathlib import Path

import pytest
from defusedxml import ElementTree

FOLDER = Path(__file__).parents[3] / "docs/concepts"
DRAWINGS = sorted(FOLDER.glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.stem)
def test_drawing_is_legible_everywhere_and_needs_no_other_host(path: Path) -> None:
    text = path.read_text("utf-8")
    root = ElementTree.fromstring(text)
    assert root.findtext(f"{SVG}title")
    # Its own ground: pages choose light or dark by a button, and drawings by the system.
    assert root.find(f"{SVG}rect[@class='ground']") is not None
    assert "prefers-color-scheme: dark" in text
    assert text.count("http") == 1


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.stem)
def test_texts_stay_inside_the_drawing(path: Path) -> None:
    root = ElementTree.fromstring(path.read_text("utf-8"))
    _, _, width, height = (float(number) for number in root.attrib["viewBox"].split())
    for text in root.iter(f"{SVG}text"):
        assert 0 < float(text.attrib["x"]) < width
        assert 0 < float(text.attrib["y"]) < height


def test_every_drawing_is_on_a_page() -> None:
    pages = "".join(path.read_text("utf-8") for path in FOLDER.glob("*.md"))
    assert DRAWINGS
    assert [path.name for path in DRAWINGS if f"({path.name})" not in pages] == []

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.page import SECTIONS, draw, find_section, main, write_page
from benchmarks.run import BENCHMARKS

LINES = Path(__file__).parents[3] / "docs/reference/benchmarks-lake.jsonl"


def read_lines():
    return [json.loads(text) for text in LINES.read_text("utf-8").splitlines()]


def build_line(name="operations_insert", ratio=2.0, better="lower", **further):
    value = {"name": name, "value": ratio, "floor": 1.0, "unit": "s", "ratio": ratio, "goal": 3.0}
    return {**value, "better": better, "ok": True, **further}


def test_the_stored_page_is_the_one_of_the_stored_lines():
    lines = read_lines()
    assert LINES.with_suffix(".md").read_text("utf-8") == write_page(lines, LINES.name)
    assert LINES.with_suffix(".svg").read_text("utf-8") == draw(lines)


def test_every_section_has_figures_and_every_line_has_a_section():
    sections = [find_section(line["name"]) for line in read_lines()]
    assert None not in sections
    assert [s.benchmark for s in SECTIONS if s not in sections or s.benchmark not in BENCHMARKS] == []


def test_no_result_is_measured_twice():
    names = [line["name"] for line in read_lines()]
    assert sorted(set(names)) == sorted(names)


def test_a_note_is_printed_below_its_table():
    page = write_page([build_line(note="3 files for each row")], "lines.jsonl")
    assert page.index("| `operations_insert` |") < page.index("- `operations_insert`: 3 files for each row.")


@pytest.mark.parametrize("ratio", [0.0, 0.0001, 0.5, 1.0, 3.0, 5_000.0])
def test_the_bar_of_any_ratio_is_inside_the_plot(ratio):
    root = ElementTree.fromstring(draw([build_line(ratio=ratio)]))
    bar = root.findall("{*}rect")[-1]
    left, width = float(bar.attrib["x"]), float(bar.attrib["width"])
    assert 0 <= left <= left + width <= float(root.attrib["width"])


def test_a_line_of_no_section_is_bad_input(tmp_path, capsys):
    file = tmp_path / "lines.jsonl"
    file.write_text(json.dumps(build_line("freshness_p50")))
    assert main([str(file)]) == 2
    assert "freshness_p50" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["lines.jsonl"]

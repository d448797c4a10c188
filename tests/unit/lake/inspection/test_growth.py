"""Size over time, and its picture."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from headwater.errors import MissingExtraError, UsageError
from headwater.lake import inspection
from headwater.lake.inspection import Growth, GrowthPoint
from tests.fixtures.inspection.addresses import TIMELINE, copy_fixture, find_fixture

TABLES = ("orders_cow", "orders_mor", "archived", "odd_partitions", "managed")


def build_growth(*sizes: int) -> Growth:
    start = datetime(2026, 1, 1, tzinfo=timezone.utc)
    points = [
        GrowthPoint(str(hour), start + timedelta(hours=hour), "upsert", size, size // 10, True, 1)
        for hour, size in enumerate(sizes)
    ]
    return Growth(tuple(points), ())


@pytest.mark.parametrize("table", TABLES)
def test_last_point_is_what_lies_on_disk_now(table):
    address = find_fixture(table)
    last = inspection.read_growth(address).points[-1]
    totals = inspection.read_layout(address).totals
    assert (last.bytes, last.file_groups) == (totals.current_bytes, totals.file_groups)


def test_rows_follow_inserts_updates_and_deletes():
    points = inspection.read_growth(find_fixture("orders_cow")).points
    assert [(point.rows, point.rows_are_exact) for point in points] == [(8, True), (9, True), (8, True)]


def test_archived_commits_are_points_too():
    points = inspection.read_growth(find_fixture("archived")).points
    assert [point.rows for point in points] == [1, 2, 3, 4, 5, 6, 7]
    assert [point.bytes for point in points] == sorted(point.bytes for point in points)


def test_compaction_overwrite_and_clustering_make_rows_certain_again():
    points = inspection.read_growth(find_fixture("managed")).points
    assert [(point.operation, point.rows, point.rows_are_exact) for point in points] == [
        ("upsert", 6, True),
        ("upsert", 6, False),
        ("compact", 6, True),
        ("insert_overwrite", 4, True),
        ("upsert", 4, False),
        ("cluster", 4, True),
        ("upsert", 4, False),
        ("upsert", 4, False),
    ]
    assert points[2].bytes < points[1].bytes


def test_damaged_commit_is_a_problem_and_no_point(tmp_path):
    address = copy_fixture("archived", tmp_path)
    next(Path(address.path, TIMELINE).glob("*.commit")).write_bytes(b"torn")
    found = inspection.read_growth(address)
    assert len(found.points) == 6
    assert "cannot be read" in found.problems[0]


def test_svg_has_a_line_for_bytes_and_one_for_rows():
    root = ET.fromstring(inspection.draw_svg(build_growth(100, 400, 200), "a<b"))
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert texts[0] == "a<b: 3 commits"
    assert {"bytes", "rows", "400 bytes", "40", "2026-01-01 00:00:00Z", "2026-01-01 02:00:00Z"} <= set(texts)
    lines = [element.get("d") for element in root.iter() if element.get("stroke-width") == "2"]
    # Half way in time at full height, at the end at half of it.
    assert lines[0] == "M90 190H90.0V152.5H400.0V40.0H710.0V115.0"
    assert len(lines) == 2


@pytest.mark.parametrize("sizes", [(), (7,), (0, 0)])
def test_svg_of_few_or_empty_commits_is_drawn(sizes):
    assert ET.fromstring(inspection.draw_svg(build_growth(*sizes), "t")).tag.endswith("svg")


def test_png_is_drawn_with_matplotlib(tmp_path):
    path = tmp_path / "growth.png"
    inspection.write_plot(build_growth(100, 400, 200), "orders", path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_png_without_matplotlib_says_what_to_install(tmp_path, monkeypatch):
    # None in its place is how Python is told that a module is not there.
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match="matplotlib") as failure:
        inspection.write_plot(build_growth(1), "orders", tmp_path / "growth.png")
    assert "headwater[plot]" in failure.value.hint
    inspection.write_plot(build_growth(1), "orders", tmp_path / "growth.svg")
    assert (tmp_path / "growth.svg").exists()


@pytest.mark.parametrize(
    ("name", "told"), [("growth.gif", ".svg and .png"), ("none/growth.svg", "no such folder")]
)
def test_file_that_cannot_be_drawn_to_is_bad_input(tmp_path, name, told):
    with pytest.raises(UsageError, match=told):
        inspection.check_plot(tmp_path / name)

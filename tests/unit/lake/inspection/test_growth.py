"""Size over time, and its picture."""

import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

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
def test_last_point_equals_current_storage(table):
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


def test_corrupt_commit_is_a_problem_and_no_point(tmp_path):
    address = copy_fixture("archived", tmp_path)
    next(Path(address.path, TIMELINE).glob("*.commit")).write_bytes(b"torn")
    found = inspection.read_growth(address)
    assert len(found.points) == 6
    assert "cannot be read" in found.problems[0]


@pytest.mark.parametrize("sizes", [(100, 400, 200), (), (7,), (0, 0)])
@pytest.mark.parametrize(("name", "starts"), [("growth.svg", b"<?xml"), ("growth.PNG", b"\x89PNG")])
def test_growth_is_drawn_as_the_name_of_the_file_ends(tmp_path, sizes, name, starts):
    inspection.write_plot(build_growth(*sizes), "a<b", tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(starts)


def test_missing_matplotlib_error_names_the_extra(tmp_path, monkeypatch):
    # None in its place is how Python is told that a module is not there.
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    with pytest.raises(MissingExtraError, match="matplotlib") as failure:
        inspection.check_plot(tmp_path / "growth.svg")
    assert "pip install 'headwater[plot]'" in failure.value.hint
    assert failure.value.exit_code == 2


@pytest.mark.parametrize(
    ("name", "expected_message"),
    [
        ("growth.bmp", ".png, .ps"),
        ("growth", "files without a suffix"),
        ("none/growth.svg", "the folder does not exist"),
    ],
)
def test_file_that_cannot_be_drawn_to_is_bad_input(tmp_path, name, expected_message):
    with pytest.raises(UsageError, match=expected_message):
        inspection.check_plot(tmp_path / name)

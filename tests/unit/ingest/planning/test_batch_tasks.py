"""Who fetches a batch, and in how many tasks: as many as have enough work."""

import pytest

from headwater.ingest.planning.batch_tasks import FetchWork, count_write_tasks, estimate_size

MB = 1024 * 1024


@pytest.mark.parametrize(
    ("objects", "size", "expected"),
    [(1, 10, True), (64, MB, True), (65, 10, False), (1, MB + 1, False)],
)
def test_driver_fetches_a_handful_of_small_objects(objects: int, size: int, expected: bool) -> None:
    assert FetchWork(objects, size).is_handful is expected


@pytest.mark.parametrize(
    ("objects", "size", "cores", "expected"),
    [
        (65, 1_000, 2, 2),
        (65, 1_000, 100, 3),
        (2_000, 1_000, 2, 4),
        (2_000, 1_000, 100, 63),
        (10_000, 1_000, 100, 100),
        (100_000, 1_000, 100, 200),
        (10, 100 * MB, 4, 4),
        (10, 10_000 * MB, 4, 160),
        (10, 191 * MB, 2, 4),
        (1, 0, 100, 1),
    ],
)
def test_tasks_occupy_all_cores_that_have_enough_work(
    objects: int, size: int, cores: int, expected: int
) -> None:
    assert FetchWork(objects, size).count_tasks(cores) == expected


def test_each_document_can_be_a_task() -> None:
    assert FetchWork(65, 1_000, is_heavy=True).count_tasks(100) == 65
    assert FetchWork(65, 1_000, is_heavy=True).count_tasks(4) == 4


@pytest.mark.parametrize(
    ("rows", "cores", "expected"),
    [(0, 100, 1), (75, 100, 1), (2_001, 100, 2), (1_000_000, 100, 100), (500_000, 2, 2)],
)
def test_rows_are_written_by_tasks_with_enough_of_them(rows: int, cores: int, expected: int) -> None:
    assert count_write_tasks(rows, 0, cores) == expected


@pytest.mark.parametrize(
    ("rows", "size", "cores", "expected"),
    [(10, 128 * MB, 2, 1), (375_000, 1_500 * MB, 2, 12), (1_000_000, 0, 2, 2), (1_000_000, 0, 100, 100)],
)
def test_no_task_writes_more_than_a_core_has_memory_for(
    rows: int, size: int, cores: int, expected: int
) -> None:
    assert count_write_tasks(rows, size, cores) == expected


@pytest.mark.parametrize(
    ("key", "file_format", "expected"),
    [
        ("a.json", "json", MB),
        ("a.json.GZ", "json", 4 * MB),
        ("a", "parquet", 4 * MB),
        ("a.csv.zst", "csv", 4 * MB),
    ],
)
def test_rows_of_a_compressed_object_are_larger(key: str, file_format: str, expected: int) -> None:
    assert estimate_size(MB, key, file_format) == expected

"""`history: scd2` keeps the versions of rows from set to set."""

from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.errors import TransformError
from tests.fixtures.dump_lake import Rows, build_dump_lake, put_dump, write_rows
from tests.fixtures.folder_lake import FolderLake

Version = tuple[int, str, int, int | None, bool]
"""Id, name, the days of November from which and until which the row is valid, and whether it is current."""


def list_versions(lake: FolderLake) -> list[Version]:
    def day(time: datetime | None) -> int | None:
        return None if time is None else time.day

    found = lake.rows("rows", "id", "valid_from", "name", "valid_to", "is_current")
    return [(key, name, day(begin) or 0, day(end), current) for key, begin, name, end, current in found]


def build_versions(dumps: dict[int, Rows]) -> list[Version]:
    """The versions of the rows of these dumps, by day."""
    open_versions: dict[int, tuple[str, int]] = {}
    versions: list[Version] = []
    for day, rows in sorted(dumps.items()):
        for key, (name, begin) in list(open_versions.items()):
            if rows.get(key) != name:
                versions.append((key, name, begin, day, False))
                del open_versions[key]
        open_versions |= {key: (name, day) for key, name in rows.items() if key not in open_versions}
    versions += [(key, name, begin, None, True) for key, (name, begin) in open_versions.items()]
    return sorted(versions, key=lambda version: (version[0], version[2]))


DUMPS: dict[int, Rows] = {
    1: {1: "one", 2: "two", 3: "three"},
    2: {1: "ONE", 2: "two", 4: "four"},
    3: {1: "ONE", 2: "two", 3: "three", 4: "four"},
    4: {1: "one", 3: "three", 4: "FOUR"},
}


@pytest.mark.parametrize(
    "table_type", ["copy_on_write", pytest.param("merge_on_read", marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_each_dump_ends_and_begins_versions(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    lake = build_dump_lake(spark, tmp_path, history="scd2", table_type=table_type)
    for day, rows in DUMPS.items():
        put_dump(lake, f"2026-11-0{day}", rows)
        lake.ingest("rows")
    assert list_versions(lake) == build_versions(DUMPS)


@pytest.mark.slow
def test_dumps_that_were_there_before_are_applied_in_order(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path, history="scd2")
    for day in (3, 1, 4, 2):
        put_dump(lake, f"2026-11-0{day}", DUMPS[day])
    lake.ingest("rows")
    assert list_versions(lake) == build_versions(DUMPS)


@pytest.mark.slow
def test_a_corrected_dump_replaces_its_own_versions(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path, history="scd2")
    put_dump(lake, "2026-11-01", DUMPS[1], count=1)
    put_dump(lake, "2026-11-02", {1: "wrong", 2: "two", 5: "wrong", 6: "six"}, count=1)
    lake.ingest("rows")
    lake.put("dumps/day=2026-11-02/0.json", write_rows({1: "ONE", 2: "two", 6: "six"}))
    lake.put("dumps/day=2026-11-02/_SUCCESS", "")
    lake.ingest("rows")
    corrected = {1: DUMPS[1], 2: {1: "ONE", 2: "two", 6: "six"}}
    assert list_versions(lake) == build_versions(corrected)


@pytest.mark.slow
def test_a_partition_of_a_row_keeps_its_versions(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path, history="scd2", partition="name")
    for day in (1, 2):
        put_dump(lake, f"2026-11-0{day}", DUMPS[day])
        lake.ingest("rows")
    assert list_versions(lake) == build_versions({day: DUMPS[day] for day in (1, 2)})


@pytest.mark.slow
def test_versions_of_rows_that_a_damaged_dump_lacks_do_not_end(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path, history="scd2")
    put_dump(lake, "2026-11-01", {1: "one", 2: "two"})
    lake.ingest("rows")
    lake.put("dumps/day=2026-11-02/0.json", write_rows({1: "ONE"}) + "{")
    lake.put("dumps/day=2026-11-02/_SUCCESS", "")
    lake.ingest("rows")
    assert list_versions(lake) == [
        (1, "one", 1, 2, False),
        (1, "ONE", 2, None, True),
        (2, "two", 1, None, True),
    ]


@pytest.mark.slow
def test_a_column_of_the_objects_with_the_same_name_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path, history="scd2")
    lake.put("dumps/day=1/0.json", '{"id": 1, "valid_to": "2026-01-01"}\n')
    lake.put("dumps/day=1/_SUCCESS", "")
    with pytest.raises(TransformError, match="adds the column 'valid_to', which the objects have already"):
        lake.ingest("rows")

"""A lake that commit 2309421 wrote, with lists of two levels, is updated by this release, and upgraded.

The archive was made by that commit's own pipelines: the table `structs` is copy-on-write, `lists` is
merge-on-read with a log file. Rows have arrays, arrays of structs of one field, and arrays of such arrays.
"""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from headwater.lake import find_address
from headwater.lake.migration.old_lists import find_old_lists, rewrite_lists
from headwater.lake.service_table import ServiceTable
from tests.fixtures.folder_lake import FolderLake

ARCHIVE = Path(__file__).parents[3] / "fixtures/tables/lake_of_old_lists.tar.xz"
TABLES = {
    "structs": {"path": "*.json", "record_key": "id"},
    "lists": {"path": "*.json", "record_key": "id", "table_type": "merge_on_read"},
}
FIRST = {
    "structs": (1, [1, 3], [Row(x=1)], [[Row(x=2)]]),
    "lists": (1, [4], [], None),
}
SECOND: tuple[Any, ...] = (2, [2], [Row(x=5)], [])
UPDATE = {"id": 1, "a": [None, 7], "s": [{"x": 9}, None], "m": [[{"x": 8}, None]]}
UPDATED = (1, [None, 7], [Row(x=9), None], [[Row(x=8), None]])


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> FolderLake:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return FolderLake(spark, tmp_path, **TABLES)


def read(lake: FolderLake, name: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, lake.table(name).read().select("id", "a", "s", "m").collect()))


def update(lake: FolderLake, name: str) -> None:
    lake.put("c.json", json.dumps(UPDATE) + "\n")
    lake.ingest(name)
    assert read(lake, name) == [UPDATED, SECOND]


def test_update_rewrites_the_lists_of_the_files_it_meets(lake):
    assert read(lake, "structs") == [FIRST["structs"], SECOND]
    update(lake, "structs")
    assert find_old_lists(find_address(lake.settings, "structs")) == ()


@pytest.mark.slow
def test_update_of_a_merge_on_read_table_is_read_back(lake):
    assert read(lake, "lists") == [FIRST["lists"], SECOND]
    update(lake, "lists")


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_upgrade_rewrites_all_lists_and_changes_no_row(lake, spark, name):
    address = find_address(lake.settings, name)
    assert len(find_old_lists(address)) == 1
    rewrite_lists(ServiceTable(spark, address))
    assert find_old_lists(address) == ()
    assert read(lake, name) == [FIRST[name], SECOND]
    update(lake, name)
    assert find_old_lists(address) == ()

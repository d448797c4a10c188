"""Rows and partitions that leave a table."""

from dataclasses import replace

import pytest

from headwater.config.table import TableConfig
from headwater.config.table.typed_options import list_typed_options
from headwater.errors import UsageError
from headwater.lake.options import owner_options
from headwater.lake.services.deletion import delete_partitions, delete_rows

pytestmark = pytest.mark.long


@pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])
def test_rows_of_a_condition_go_in_one_commit_and_no_others(build, table_type):
    owned = build(table_type=table_type)
    owned.write(("a", 1, "x"), ("b", 2, "x"), ("c", 3, "y"))
    assert delete_rows(owned.services, "n >= 2", dry_run=True).rows == 2
    assert owned.rows() == [("a", 1), ("b", 2), ("c", 3)]
    done = delete_rows(owned.services, "n >= 2")
    assert done.rows == 2
    assert done.instant == owned.table.load_timeline().commits[-1].requested
    assert owned.rows() == [("a", 1)]
    assert delete_rows(owned.services, "n >= 2").instant == ""
    assert len(owned.table.load_timeline().commits) == 2


def test_partition_is_deleted_with_its_rows(build):
    owned = build()
    owned.write(("a", 1, "x"), ("b", 2, "x"), ("c", 3, "y"))
    assert delete_partitions(owned.services, ("day=x",), dry_run=True).rows == 2
    assert delete_partitions(owned.services, ("day=x",)).rows == 2
    assert owned.rows() == [("c", 3)]
    owned.write(("d", 4, "x"))
    assert owned.rows() == [("c", 3), ("d", 4)]


def test_invalid_condition_deletes_nothing(build):
    owned = build()
    owned.write(("a", 1, "x"))
    with pytest.raises(UsageError, match="--where nowhere = 1"):
        delete_rows(owned.services, "nowhere = 1")
    with pytest.raises(UsageError, match="--where n ="):
        delete_rows(owned.services, "n = = 1")
    with pytest.raises(UsageError, match="no partition day=z") as raised:
        delete_partitions(owned.services, ("day=z",))
    assert "day=x" in raised.value.hint
    assert owned.rows() == [("a", 1)]


def test_rows_are_found_through_the_index_that_the_table_is_configured_with(build):
    config = TableConfig(
        path="*.json",
        record_key="id",
        partition="day",
        index={"type": "bucket", "buckets": 2},
        keep_commits=3,
    )
    owned = build(typed=list_typed_options(config))
    owned.write(*((f"k{n}", n, "x") for n in range(8)))
    services = replace(owned.services, extra=owner_options(config))
    assert delete_rows(services, "n % 2 = 0").rows == 4
    assert [n for _, n in owned.rows()] == [1, 3, 5, 7]

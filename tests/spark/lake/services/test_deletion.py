"""Rows and partitions that leave a table."""

import pytest

from headwater.errors import UsageError
from headwater.lake.services.deletion import delete_partitions, delete_rows


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


def test_whole_partition_goes_with_its_rows(build):
    owned = build()
    owned.write(("a", 1, "x"), ("b", 2, "x"), ("c", 3, "y"))
    assert delete_partitions(owned.services, ("day=x",), dry_run=True).rows == 2
    assert delete_partitions(owned.services, ("day=x",)).rows == 2
    assert owned.rows() == [("c", 3)]
    owned.write(("d", 4, "x"))
    assert owned.rows() == [("c", 3), ("d", 4)]


def test_what_cannot_be_understood_deletes_nothing(build):
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

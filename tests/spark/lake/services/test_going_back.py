"""Savepoints, restore and rollback."""

import pytest

from headwater.errors import UsageError
from headwater.lake.services.cleaning import CleanPolicy, clean
from headwater.lake.services.rollback import plan_rollback, roll_back
from headwater.lake.services.savepoints import (
    create_savepoint,
    delete_savepoint,
    list_savepoints,
    plan_restore,
    restore,
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "table_type", ["copy_on_write", pytest.param("merge_on_read", marks=pytest.mark.long)]
)
def test_restore_brings_back_the_rows_of_the_savepoint(build, table_type):
    owned = build(table_type=table_type)
    owned.write(("a", 1, "x"), ("b", 1, "x"))
    made = create_savepoint(owned.services, None, "before the change")
    later = [owned.write(("a", 2, "x")), owned.write(("c", 3, "y"))]
    assert [(s.instant, s.comment) for s in list_savepoints(owned.services)] == [
        (made.instant, "before the change")
    ]
    assert plan_restore(owned.services, None).commits == tuple(reversed(later))
    assert owned.rows() == [("a", 2), ("b", 1), ("c", 3)]
    assert restore(owned.services, None).commits == tuple(reversed(later))
    assert owned.rows() == [("a", 1), ("b", 1)]
    owned.write(("d", 4, "x"))
    assert owned.rows() == [("a", 1), ("b", 1), ("d", 4)]


@pytest.mark.long
def test_cleaning_spares_a_savepoint_until_it_is_deleted(build):
    owned = build()
    first = owned.write(("a", 1, "x"))
    create_savepoint(owned.services, first, "")
    for n in (2, 3):
        owned.write(("a", n, "x"))
    assert clean(owned.services, CleanPolicy("versions", 1)).files == 1
    assert len(owned.files(f"*_{first}.parquet")) == 1
    delete_savepoint(owned.services, first)
    assert list_savepoints(owned.services) == ()
    assert clean(owned.services, CleanPolicy("versions", 1)).files == 1
    assert owned.files(f"*_{first}.parquet") == []


@pytest.mark.long
def test_rollback_takes_back_the_newest_commit_only(build):
    owned = build()
    first, second = owned.write(("a", 1, "x")), owned.write(("a", 2, "x"))
    with pytest.raises(UsageError, match="not its latest commit") as raised:
        roll_back(owned.services, first)
    assert second in raised.value.hint
    assert plan_rollback(owned.services, None).commits == (second,)
    assert owned.rows() == [("a", 2)]
    assert roll_back(owned.services, second).commits == (second,)
    assert owned.rows() == [("a", 1)]


@pytest.mark.long
def test_missing_instant_is_invalid_input(build):
    owned = build()
    owned.write(("a", 1, "x"))
    with pytest.raises(UsageError, match="no savepoint"):
        restore(owned.services, None)
    with pytest.raises(UsageError, match="no commit 20200101000000000"):
        create_savepoint(owned.services, "20200101000000000", "")
    made = create_savepoint(owned.services, None, "")
    with pytest.raises(UsageError, match="has a savepoint"):
        create_savepoint(owned.services, made.instant, "")
    with pytest.raises(UsageError, match="no savepoint 20200101000000000"):
        delete_savepoint(owned.services, "20200101000000000")


@pytest.mark.long
def test_dry_run_makes_no_savepoint(build):
    owned = build()
    instant = owned.write(("a", 1, "x"))
    assert create_savepoint(owned.services, None, "", dry_run=True).instant == instant
    assert list_savepoints(owned.services) == ()

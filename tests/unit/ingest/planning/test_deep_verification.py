"""What reading an object again means: by mode, and when it could not be read."""

from datetime import datetime, timezone

import pytest

from headwater.ingest.planning.verification import (
    ComparedObject,
    DeepCounts,
    Finding,
    TableRules,
    is_in_sample,
    judge_compared,
)
from headwater.sources.lister import ListedObject

OWN_ROWS = TableRules(follows_removals=True, counts_rows=True)
MERGED = TableRules(follows_removals=False, counts_rows=False)
FOUND = Finding(
    "ingested", "a", "", ListedObject("a", 1, "e", None, datetime(2026, 5, 1, tzinfo=timezone.utc))
)


@pytest.mark.parametrize("rules", [OWN_ROWS, MERGED])
def test_equal_rows_are_ingested(rules: TableRules) -> None:
    assert judge_compared(FOUND, ComparedObject("a", "read", 3, 3), rules) is FOUND


def test_rows_that_another_object_wrote_over_are_only_missed_where_they_cannot_be() -> None:
    compared = ComparedObject("a", "read", read=3, stored=2, lost=1)
    assert judge_compared(FOUND, compared, MERGED) is FOUND
    wrong = judge_compared(FOUND, compared, OWN_ROWS)
    assert (wrong.kind, wrong.detail) == ("wrong_rows", "re-read: 1 of its 3 rows are missing from the table")
    assert wrong.is_repairable


@pytest.mark.parametrize("rules", [OWN_ROWS, MERGED])
def test_rows_that_are_not_the_objects_are_wrong(rules: TableRules) -> None:
    wrong = judge_compared(FOUND, ComparedObject("a", "read", read=1, stored=2, foreign=1), rules)
    assert (wrong.kind, wrong.detail) == ("wrong_rows", "re-read: 1 rows of the table are not in the object")


@pytest.mark.parametrize("status", ["superseded", "missing", "unavailable", "quarantined"])
def test_unread_objects_have_no_result(status: str) -> None:
    compared = ComparedObject("a", status, stored=2, foreign=2)
    assert judge_compared(FOUND, compared, OWN_ROWS) is FOUND
    counts = DeepCounts()
    counts.add(compared, is_same=True)
    is_changed = status in ("superseded", "missing")
    assert counts == DeepCounts(changed=is_changed, unread=not is_changed)


def test_objects_and_rows_that_were_read_are_counted() -> None:
    counts = DeepCounts()
    counts.add(ComparedObject("a", "read", 3, 3), is_same=True)
    counts.add(ComparedObject("b", "read", 2, 1, lost=1), is_same=False)
    assert counts == DeepCounts(objects=2, rows=5, differing=1)


def test_a_sample_is_about_as_large_as_asked_for_and_another_one_every_day() -> None:
    keys = [f"folder/{at}.json" for at in range(10_000)]
    assert all(is_in_sample(key, 1, "2026-05-01") for key in keys)
    today, tomorrow = (
        {key for key in keys if is_in_sample(key, 10, day)} for day in ("2026-05-01", "2026-05-02")
    )
    assert 800 < len(today) < 1_200
    assert len(today & tomorrow) < 200

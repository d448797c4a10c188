"""When objects in quarantine are tried again."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from headwater.ingest.planning.retries import MAX_ATTEMPTS, FailedAttempt, choose_due, compute_pause

START = datetime(2026, 5, 1, tzinfo=timezone.utc)
POLICIES = {"orders": {"forbidden": "retry", "unparsable": "quarantine"}}


def failed(minutes: float = 0, reason: str = "forbidden", key: str = "a.json", table: str = "orders"):
    return FailedAttempt(table, "landing", key, reason, START + timedelta(minutes=minutes))


def due(*attempts, minutes):
    found = choose_due(attempts, POLICIES, START + timedelta(minutes=minutes))
    return [(attempt.bucket, attempt.key) for attempt in found]


def test_object_is_due_a_minute_after_its_first_attempt():
    assert due(failed(), minutes=0.9) == []
    assert due(failed(), minutes=1) == [("landing", "a.json")]


def test_each_attempt_doubles_the_pause():
    assert due(failed(), failed(1), minutes=2.9) == []
    assert due(failed(), failed(1), minutes=3) == [("landing", "a.json")]


@pytest.mark.parametrize("other", [failed(reason="unparsable"), failed(table="unknown")])
def test_only_reasons_to_be_retried_are(other):
    assert due(other, minutes=1000) == []


def test_newest_reason_counts():
    assert due(failed(0, "unparsable"), failed(1), minutes=60) == [("landing", "a.json")]
    assert due(failed(0), failed(1, "unparsable"), minutes=60) == []


def test_attempts_end_after_about_a_day_and_pauses_have_a_bound():
    attempts = [failed(minute) for minute in range(MAX_ATTEMPTS)]
    assert due(*attempts, minutes=10**6) == []
    pauses = [compute_pause(count) for count in range(1, MAX_ATTEMPTS)]
    assert max(pauses) == timedelta(hours=6)
    assert timedelta(hours=20) < sum(pauses, timedelta()) < timedelta(days=2)


def test_each_version_is_due_on_its_own_and_once_for_all_tables():
    policies = {"orders": {"forbidden": "retry"}, "clicks": {"forbidden": "retry"}}
    first, second = (replace(failed(), version_id=version) for version in ("v1", "v2"))
    attempts = [
        first,
        replace(first, table="clicks"),
        second,
        replace(second, at=START + timedelta(minutes=9)),
    ]
    assert choose_due(attempts, policies, START + timedelta(minutes=10)) == [replace(first, table="clicks")]

"""The same event twice is one row: the writer's memory of ids."""

from hashlib import md5

import pytest

from headwater.capture.seen_events import SeenEvents

DAY = "2026-11-23"


def event_id(n):
    return md5(str(n).encode(), usedforsecurity=False).hexdigest()


def test_id_is_new_until_its_commit_completed():
    seen = SeenEvents(lambda days: {})
    assert seen.keep_new([(DAY, event_id(1))]) == [True]
    assert seen.keep_new([(DAY, event_id(1))]) == [True]
    seen.add([(DAY, event_id(1))])
    assert seen.keep_new([(DAY, event_id(1)), (DAY, event_id(2))]) == [False, True]


def test_repetition_inside_a_batch_counts_once():
    assert SeenEvents(lambda days: {}).keep_new([(DAY, event_id(1))] * 3) == [True, False, False]


def test_ids_of_a_day_are_loaded_once_from_the_table():
    asked = []

    def load(days):
        asked.append(days)
        return {DAY: [event_id(n) for n in range(1000)]}

    seen = SeenEvents(load)
    assert seen.keep_new([(DAY, event_id(n)) for n in range(500, 1500)]) == [False] * 500 + [True] * 500
    seen.keep_new([(DAY, event_id(1))])
    assert asked == [["2026-11-22", "2026-11-23", "2026-11-24"]]


@pytest.mark.parametrize("stored_day", ["2026-11-22", "2026-11-23", "2026-11-24"])
@pytest.mark.parametrize("is_loaded", [True, False])
def test_id_stored_on_a_neighbouring_day_is_known(stored_day, is_loaded):
    seen = SeenEvents(lambda days: {stored_day: [event_id(1)]} if is_loaded else {})
    if not is_loaded:
        seen.add([(stored_day, event_id(1))])
    assert seen.keep_new([(DAY, event_id(1)), (DAY, event_id(2))]) == [False, True]


def test_repetition_inside_a_batch_counts_once_across_midnight():
    seen = SeenEvents(lambda days: {})
    assert seen.keep_new([("2026-11-22", event_id(1)), (DAY, event_id(1))]) == [True, False]


def test_many_ids_are_remembered_exactly():
    seen = SeenEvents(lambda days: {})
    for first in range(0, 50_000, 5_000):
        seen.add([(DAY, event_id(n)) for n in range(first, first + 5_000)])
    assert not any(seen.keep_new([(DAY, event_id(n)) for n in range(50_000)]))
    assert all(seen.keep_new([(DAY, event_id(n)) for n in range(50_000, 51_000)]))


def test_days_used_last_are_kept_and_others_loaded_again():
    loads = []

    def load(days):
        loads.append(days)
        return {}

    seen = SeenEvents(load, max_days=4)
    for day in ("2026-01-02", "2026-01-02", "2026-01-03", "2026-05-05", "2026-01-03"):
        seen.keep_new([(day, event_id(1))])
    assert loads == [
        ["2026-01-01", "2026-01-02", "2026-01-03"],
        ["2026-01-04"],
        ["2026-05-04", "2026-05-05", "2026-05-06"],
        ["2026-01-02", "2026-01-03"],
    ]


def test_a_batch_of_more_days_than_are_kept_is_exact():
    stored = {f"2026-01-{day:02}": [event_id(day)] for day in range(1, 29)}
    seen = SeenEvents(lambda days: {day: stored[day] for day in days if day in stored}, max_days=2)
    ids = [(day, found) for day, (found,) in stored.items()]
    assert seen.keep_new(ids) == [False] * len(ids)


def test_external_commits_invalidate_the_seen_events():
    stored = []
    seen = SeenEvents(lambda days: {DAY: list(stored)})
    seen.keep_new([(DAY, event_id(1))])
    stored.append(event_id(1))
    seen.forget()
    assert seen.keep_new([(DAY, event_id(1))]) == [False]


def test_ids_that_differ_only_in_trailing_zeros_are_different():
    ids = ["ab" + "0" * 30, "ab" + "0" * 28 + "01", "0" * 32, "0" * 30 + "ab"]
    seen = SeenEvents(lambda days: {DAY: ids[:1]})
    assert seen.keep_new([(DAY, found) for found in ids]) == [False, True, True, True]
    assert SeenEvents(lambda days: {DAY: ids}).keep_new([(DAY, found) for found in ids]) == [False] * 4

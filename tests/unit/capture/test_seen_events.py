"""The same event twice is one row: the writer's memory of ids."""

from hashlib import md5

from headwater.capture.seen_events import SeenEvents


def event_id(n):
    return md5(str(n).encode(), usedforsecurity=False).hexdigest()


def test_id_is_new_until_its_commit_completed():
    seen = SeenEvents(lambda day: [])
    assert seen.keep_new([("d", event_id(1))]) == [True]
    assert seen.keep_new([("d", event_id(1))]) == [True]
    seen.add([("d", event_id(1))])
    assert seen.keep_new([("d", event_id(1)), ("d", event_id(2))]) == [False, True]


def test_repetition_inside_a_batch_counts_once():
    assert SeenEvents(lambda day: []).keep_new([("d", event_id(1))] * 3) == [True, False, False]


def test_ids_of_a_day_are_loaded_once_from_the_table():
    asked = []

    def load(day):
        asked.append(day)
        return [event_id(n) for n in range(1000)]

    seen = SeenEvents(load)
    assert seen.keep_new([("d", event_id(n)) for n in range(500, 1500)]) == [False] * 500 + [True] * 500
    seen.keep_new([("d", event_id(1))])
    assert asked == ["d"]


def test_many_ids_are_remembered_exactly():
    seen = SeenEvents(lambda day: [])
    for first in range(0, 50_000, 5_000):
        seen.add([("d", event_id(n)) for n in range(first, first + 5_000)])
    assert not any(seen.keep_new([("d", event_id(n)) for n in range(50_000)]))
    assert all(seen.keep_new([("d", event_id(n)) for n in range(50_000, 51_000)]))


def test_days_used_last_are_kept_and_others_loaded_again():
    loads = []

    def load(day):
        loads.append(day)
        return []

    seen = SeenEvents(load, max_days=2)
    for day in ("a", "b", "a", "c", "a", "b"):
        seen.keep_new([(day, event_id(1))])
    assert loads == ["a", "b", "c", "b"]


def test_foreign_commits_make_it_ask_the_table_again():
    stored = []
    seen = SeenEvents(lambda day: list(stored))
    seen.keep_new([("d", event_id(1))])
    stored.append(event_id(1))
    seen.forget()
    assert seen.keep_new([("d", event_id(1))]) == [False]


def test_ids_that_differ_only_in_trailing_zeros_are_different():
    ids = ["ab" + "0" * 30, "ab" + "0" * 28 + "01", "0" * 32, "0" * 30 + "ab"]
    seen = SeenEvents(lambda day: ids[:1])
    assert seen.keep_new([("d", found) for found in ids]) == [False, True, True, True]
    assert SeenEvents(lambda day: ids).keep_new([("d", found) for found in ids]) == [False] * 4

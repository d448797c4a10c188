"""The same event twice is one row: the writer's memory of ids."""

import tracemalloc
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timezone
from hashlib import md5
from pathlib import Path

import pytest

from headwater.capture import seen_events
from headwater.capture.seen_events import SeenEvents, find_window

WINDOW = find_window(datetime(2026, 11, 23, 23, 59, 59, tzinfo=timezone.utc))

_FILES = Path("/proc/self/fd")


def event_id(n: int) -> str:
    return md5(str(n).encode(), usedforsecurity=False).hexdigest()


def build(
    stored: Mapping[int, Collection[str]] | None = None, asked: list[list[int]] | None = None
) -> SeenEvents:
    """Over a table with these ids by window, which it may return in several pieces."""

    def load(windows: Collection[int]) -> Iterator[tuple[int, str]]:
        if asked is not None:
            asked.append(list(windows))
        for window in windows:
            ids = list((stored or {}).get(window, ()))
            for at in range(0, len(ids), 400):
                yield window, "".join(ids[at : at + 400])

    return SeenEvents(load)


def test_id_is_new_until_its_commit_completed() -> None:
    seen = build()
    assert seen.keep_new([(WINDOW, event_id(1))]) == [True]
    assert seen.keep_new([(WINDOW, event_id(1))]) == [True]
    seen.add([(WINDOW, event_id(1))])
    assert seen.keep_new([(WINDOW, event_id(1)), (WINDOW, event_id(2))]) == [False, True]


def test_repetition_inside_a_batch_counts_once() -> None:
    assert build().keep_new([(WINDOW, event_id(1))] * 3) == [True, False, False]


def test_ids_of_a_window_are_loaded_once_from_the_table() -> None:
    asked: list[list[int]] = []
    seen = build({WINDOW: [event_id(n) for n in range(1000)]}, asked)
    assert seen.keep_new([(WINDOW, event_id(n)) for n in range(500, 1500)]) == [False] * 500 + [True] * 500
    seen.keep_new([(WINDOW, event_id(1))])
    assert asked == [[WINDOW - 1, WINDOW, WINDOW + 1]]


@pytest.mark.parametrize("shift", [-1, 0, 1])
@pytest.mark.parametrize("is_loaded", [True, False])
def test_id_stored_in_a_neighbouring_window_is_known(shift: int, is_loaded: bool) -> None:
    seen = build({WINDOW + shift: [event_id(1)]} if is_loaded else {})
    if not is_loaded:
        seen.add([(WINDOW + shift, event_id(1))])
    assert seen.keep_new([(WINDOW, event_id(1)), (WINDOW, event_id(2))]) == [False, True]


def test_repetition_inside_a_batch_counts_once_across_windows() -> None:
    assert build().keep_new([(WINDOW, event_id(1)), (WINDOW + 1, event_id(1))]) == [True, False]


@pytest.mark.parametrize("in_memory", [1_000_000, 3_000])
def test_many_ids_are_remembered_exactly(monkeypatch: pytest.MonkeyPatch, in_memory: int) -> None:
    monkeypatch.setattr(seen_events, "_IN_MEMORY", in_memory)
    stored = [event_id(n) for n in range(7_000)]
    seen = build({WINDOW: stored})
    for first in range(7_000, 60_000, 4_000):
        seen.add([(WINDOW, event_id(n)) for n in range(first, first + 4_000)])
    assert not any(seen.keep_new([(WINDOW, event_id(n)) for n in range(60_000)]))
    assert all(seen.keep_new([(WINDOW, event_id(n)) for n in range(63_000, 64_000)]))


@pytest.mark.skipif(not _FILES.is_dir(), reason="needs /proc")
def test_files_are_released_with_their_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_events, "_IN_MEMORY", 100)
    before = len(list(_FILES.iterdir()))
    seen = build({WINDOW: [event_id(n) for n in range(1_000)]})
    seen.keep_new([(WINDOW, event_id(1))])
    assert len(list(_FILES.iterdir())) > before
    seen.forget()
    assert len(list(_FILES.iterdir())) == before


def test_past_windows_take_little_more_than_their_ids() -> None:
    count = 5_000  # too few to be packed because of their number
    seen = SeenEvents(lambda _: [], max_windows=20)
    tracemalloc.start()
    try:
        for window in range(20):
            for first in range(0, count, 100):
                seen.add([(window, f"{window:016x}{first + at:016x}") for at in range(100)])
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used < 20 * count * 24 + 1_000_000  # the window in use has text
    assert seen.keep_new([(3, f"{3:016x}{7:016x}"), (3, f"{3:016x}{count:016x}")]) == [False, True]


def test_windows_used_last_are_kept_and_others_loaded_again() -> None:
    asked: list[list[int]] = []
    seen = build({}, asked)
    seen._max_windows = 4
    for window in (2, 2, 3, 105, 3):
        seen.keep_new([(window, event_id(1))])
    assert asked == [[1, 2, 3], [4], [104, 105, 106], [2, 3]]


def test_a_batch_of_more_windows_than_are_kept_is_exact() -> None:
    stored = {window: [event_id(window)] for window in range(100)}
    seen = build(stored)
    ids = [(window, found) for window, (found,) in stored.items()]
    assert seen.keep_new(ids) == [False] * len(ids)


def test_external_commits_invalidate_the_seen_events() -> None:
    stored: dict[int, list[str]] = {WINDOW: []}
    seen = build(stored)
    seen.keep_new([(WINDOW, event_id(1))])
    stored[WINDOW].append(event_id(1))
    seen.forget()
    assert seen.keep_new([(WINDOW, event_id(1))]) == [False]


@pytest.mark.parametrize("in_memory", [1_000, 1])
def test_ids_that_differ_only_in_zeros_are_different(monkeypatch: pytest.MonkeyPatch, in_memory: int) -> None:
    monkeypatch.setattr(seen_events, "_IN_MEMORY", in_memory)
    monkeypatch.setattr(seen_events, "_RECENT_LIMIT", 0)
    ids = ["ab" + "0" * 30, "ab" + "0" * 28 + "01", "0" * 32, "0" * 30 + "ab", "ff" * 16, "01" + "0" * 30]
    wanted = [(WINDOW, found) for found in ids]
    assert build({WINDOW: ids[:1]}).keep_new(wanted) == [False, True, True, True, True, True]
    assert build({WINDOW: ids}).keep_new(wanted) == [False] * 6
    seen = build()
    for known in range(len(ids)):
        assert seen.keep_new(wanted) == [at >= known for at in range(len(ids))]
        seen.add(wanted[known : known + 1])


def test_windows_do_not_reach_across_midnight() -> None:
    after = datetime(2026, 11, 24, tzinfo=timezone.utc)
    assert find_window(after) == WINDOW + 1
    assert find_window(datetime(1969, 12, 31, 23, 59, 59, tzinfo=timezone.utc)) == -1

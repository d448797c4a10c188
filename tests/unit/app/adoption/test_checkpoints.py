"""What the texts of checkpoints say, and how they divide the rows of the old events table."""

from datetime import datetime, timezone

import pytest

from headwater.app.adoption.checkpoints import (
    Checkpoint,
    EventsCheckpoint,
    FolderCheckpoint,
    KafkaCheckpoint,
    find_bound,
    find_modified_after,
    parse_checkpoint,
)
from headwater.capture.row_marks import build_mark
from headwater.lake.migration.streamer_commits import StreamerCheckpoint, select_checkpoint
from headwater.lake.timeline import Commit

FIRST, SECOND, THIRD = "20260101000000000", "20260101000001000", "20260101000002000"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (FIRST, EventsCheckpoint(FIRST)),
        (f"{FIRST}#orders/a.json", EventsCheckpoint(FIRST, "orders/a.json")),
        (f"{FIRST}#a#b\nc", EventsCheckpoint(FIRST, "a#b\nc")),
        ("20260101000000", EventsCheckpoint("20260101000000")),
        ("000", EventsCheckpoint("000")),
        ("orders,0:12,3:4", KafkaCheckpoint("orders", {0: 12, 3: 4})),
        ("1767225600123", FolderCheckpoint(1767225600123)),
    ],
)
def test_each_kind_of_job_has_its_form(text: str, found: Checkpoint) -> None:
    assert parse_checkpoint(text) == found


@pytest.mark.parametrize("text", ["", "orders", "orders,0", "orders,0:x", "2026-01-01", "t,0:1,0:2", "#a"])
def test_any_other_text_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(ValueError, match=r"checkpoint of HoodieStreamer|names a partition twice"):
        parse_checkpoint(text)


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        ({"deltastreamer.checkpoint.key": "1"}, StreamerCheckpoint("1", by_completion=False, commit="c")),
        ({"streamer.checkpoint.key.v2": "2"}, StreamerCheckpoint("2", by_completion=True, commit="c")),
        (
            {"deltastreamer.checkpoint.key": "1", "streamer.checkpoint.key.v2": "2"},
            StreamerCheckpoint("2", by_completion=True, commit="c"),
        ),
        ({"deltastreamer.checkpoint.key": "", "deltastreamer.checkpoint.reset_key": "1"}, None),
        ({"headwater.checkpoint": "1"}, None),
    ],
)
def test_the_newer_key_of_a_commit_counts(metadata: dict[str, str], found: StreamerCheckpoint | None) -> None:
    assert select_checkpoint(metadata, "c") == found


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("000", 0),
        (FIRST, 2),
        (f"{FIRST}#a", 1),
        (f"{FIRST}#aa", 1),
        (f"{FIRST}#z", 2),
        (f"{SECOND}#b", 3),
        (f"{SECOND}#\U0001f600", 4),
        (THIRD, 4),
    ],
)
def test_rows_up_to_the_instant_or_to_the_key_in_it_are_covered(text: str, covered: int) -> None:
    marks = [
        build_mark(commit, key) for commit, key in [(FIRST, "a"), (FIRST, "b"), (SECOND, "a"), (SECOND, "é")]
    ]
    checkpoint = parse_checkpoint(text)
    assert isinstance(checkpoint, EventsCheckpoint)
    bound = find_bound(checkpoint, ())
    assert [mark.encode() <= bound.encode() for mark in marks] == [True] * covered + [False] * (4 - covered)


def test_a_completion_time_covers_the_commits_completed_until_then() -> None:
    commits = [Commit("20260101000000500", FIRST, "commit"), Commit("20260101000001500", SECOND, "commit")]
    at = [EventsCheckpoint(time, by_completion=True) for time in (FIRST, "20260101000000500", THIRD)]
    assert [find_bound(one, commits) for one in at] == ["", build_mark(FIRST), build_mark(SECOND)]


def test_overlapping_commits_cannot_be_divided_by_a_completion_time() -> None:
    commits = [Commit(THIRD, FIRST, "commit"), Commit("20260101000001500", SECOND, "commit")]
    with pytest.raises(ValueError, match=f"{FIRST} was requested before {SECOND} and completed after it"):
        find_bound(EventsCheckpoint("20260101000001500", by_completion=True), commits)


def test_a_key_is_in_a_commit_by_its_request_whatever_the_format() -> None:
    checkpoint = parse_checkpoint(f"{FIRST}#a", by_completion=True)
    assert checkpoint == EventsCheckpoint(FIRST, "a", by_completion=False)


@pytest.mark.parametrize(
    ("milliseconds", "has_fractions", "second"),
    [(1767225600000, False, 1), (1767225600000, True, 0), (1767225600250, False, 0)],
)
def test_a_time_of_modification_begins_after_its_second_if_times_are_whole(
    milliseconds: int, has_fractions: bool, second: int
) -> None:
    found = find_modified_after(FolderCheckpoint(milliseconds), has_fractions=has_fractions)
    assert found == datetime(2026, 1, 1, 0, 0, second, tzinfo=timezone.utc)

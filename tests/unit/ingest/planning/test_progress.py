"""How far a table has read, and what it skips, as its commits and its configuration say."""

from datetime import datetime, timezone

import pytest

from headwater.capture.position import BEGINNING, EventRange, Position, build_position
from headwater.ingest.committed_state import CommittedState, parse_committed_state
from headwater.ingest.planning.progress import (
    ADOPTED,
    SKIPPED,
    Progress,
    Start,
    adopt_at,
    format_skipped,
    parse_progress,
    parse_skipped,
)

DAY = datetime(2026, 5, 1, tzinfo=timezone.utc)
LATEST, CHECKPOINT = Position("20260502000000000", 3), Position("20260503000000000")
BEFORE_LATEST, BEFORE_DAY = EventRange(BEGINNING, LATEST), EventRange(BEGINNING, build_position(DAY))


@pytest.mark.parametrize(
    ("start_from", "progress"),
    [
        (None, Progress()),
        ("earliest", Progress()),
        ("latest", Progress(LATEST, (BEFORE_LATEST,))),
        (DAY, Progress(build_position(DAY), (BEFORE_DAY,))),
    ],
)
def test_a_table_without_commits_begins_as_configured(start_from: Start, progress: Progress) -> None:
    assert parse_progress(None, start_from, lambda: LATEST) == progress


def test_latest_in_a_lake_without_events_skips_nothing() -> None:
    assert parse_progress(None, "latest", lambda: BEGINNING) == Progress()


@pytest.mark.parametrize("start_from", [None, "latest", DAY])
def test_a_start_that_is_configured_later_changes_nothing(start_from: Start) -> None:
    metadata = {"checkpoint": CHECKPOINT.to_text(), SKIPPED: format_skipped((BEFORE_LATEST,))}
    expected = Progress(CHECKPOINT, (BEFORE_LATEST,))
    assert parse_progress(metadata, start_from, lambda: BEGINNING) == expected


@pytest.mark.parametrize(("start_from", "skipped"), [(None, ()), ("latest", ()), (DAY, (BEFORE_DAY,))])
def test_commits_of_earlier_releases_began_at_the_configured_time(
    start_from: Start, skipped: tuple[EventRange, ...]
) -> None:
    metadata = {"checkpoint": CHECKPOINT.to_text()}
    assert parse_progress(metadata, start_from, lambda: LATEST) == Progress(CHECKPOINT, skipped)


def test_events_of_the_previous_writer_are_skipped_but_not_by_choice() -> None:
    adopted = adopt_at(LATEST)
    assert adopted == Progress(LATEST, (BEFORE_LATEST,), LATEST)
    assert adopted.skipped_by_choice == []
    later = adopted.skip_to(CHECKPOINT)
    assert (later.checkpoint, later.adopted) == (CHECKPOINT, LATEST)
    assert later.skipped_by_choice == [EventRange(LATEST, CHECKPOINT)]
    assert later.replay_from(LATEST).skipped_by_choice == []
    assert adopt_at(BEGINNING) == Progress()


def test_the_end_of_the_previous_writer_is_read_back() -> None:
    state = CommittedState(LATEST, skipped=(BEFORE_LATEST,), adopted=LATEST)
    metadata = state.to_metadata()
    assert parse_progress(metadata, None, lambda: BEGINNING) == adopt_at(LATEST)
    assert parse_committed_state(metadata).adopted == LATEST
    assert ADOPTED not in CommittedState(LATEST).to_metadata()


def test_skipped_ranges_are_read_back() -> None:
    ranges = (BEFORE_LATEST, EventRange(CHECKPOINT, Position("20260504000000000")))
    assert parse_skipped(format_skipped(ranges)) == ranges
    with pytest.raises(ValueError, match="nonsense"):
        parse_skipped('[["nonsense", "1"]]')


AT = [Position(f"2026050{day}000000000") for day in range(1, 6)]


@pytest.mark.parametrize(
    ("since", "kept"),
    [
        (AT[0], ()),
        (AT[1], (EventRange(AT[0], AT[1]),)),
        (AT[2], (EventRange(AT[0], AT[2]),)),
        (AT[4], (EventRange(AT[0], AT[2]), EventRange(AT[3], AT[4]))),
    ],
)
def test_a_replay_ends_the_skipping_of_later_events(since: Position, kept: tuple[EventRange, ...]) -> None:
    progress = Progress(AT[0]).skip_to(AT[1]).skip_to(AT[2])
    assert progress.skipped == (EventRange(AT[0], AT[2]),)
    progress = Progress(AT[3], progress.skipped).skip_to(AT[4])
    assert progress.replay_from(since) == Progress(AT[4], kept)

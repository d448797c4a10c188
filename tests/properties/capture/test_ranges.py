"""Ranges of events and their gaps, and offsets of times: each event is on exactly one side."""

from datetime import datetime, timezone

from hypothesis import given
from hypothesis import strategies as st

from headwater.capture.position import (
    BEGINNING,
    END,
    EventRange,
    Position,
    build_position,
    find_gaps,
    parse_instant,
)

POSITIONS = st.one_of(
    st.just(BEGINNING),
    st.builds(Position, st.integers(0, 6).map(lambda day: f"2026050{day}000000000"), st.integers(0, 2)),
)
RANGES = st.tuples(POSITIONS, POSITIONS).map(lambda two: EventRange(*sorted(two)))


@given(st.lists(RANGES, max_size=4), POSITIONS.filter(lambda at: at > BEGINNING))
def test_each_event_is_in_a_range_or_in_a_gap(ranges: list[EventRange], at: Position) -> None:
    gaps = find_gaps(ranges)
    assert any(one.has(at) for one in ranges) != any(gap.has(at) for gap in gaps)
    assert gaps == sorted(gaps)
    assert gaps[-1].until == END


@given(
    st.datetimes(timezones=st.just(timezone.utc)),
    st.datetimes(datetime(1971, 1, 1)).map(lambda time: f"{time:%Y%m%d%H%M%S}{time.microsecond // 1000:03}"),
)
def test_the_offset_of_a_time_is_before_each_commit_since_then(time: datetime, completed: str) -> None:
    floor = time.replace(microsecond=time.microsecond // 1000 * 1000)
    assert (Position(completed, 0) > build_position(time)) == (parse_instant(completed) >= floor)

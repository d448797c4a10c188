"""Ranges of messages as the bytes of an object."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.sources.log_records import LogRange, LogRecord, is_log
from tests.fixtures.log_columns import build_columns

MESSAGES = st.lists(
    st.builds(
        LogRecord,
        offset=st.integers(0, 2**62),
        millis=st.none() | st.integers(0, 2**41),
        key=st.none() | st.binary(max_size=9),
        value=st.none() | st.binary(max_size=9),
        headers=st.lists(st.tuples(st.text(max_size=4), st.none() | st.binary(max_size=4)), max_size=2).map(
            tuple
        ),
    ),
    max_size=5,
)


@given(MESSAGES)
def test_a_range_is_what_was_encoded(messages: list[LogRecord]) -> None:
    one = LogRange("orders", 3, 5, 2**62, 7, build_columns(messages))
    data = one.encode()
    assert is_log(data)
    assert LogRange.decode(data) == one
    assert LogRange.decode(data).records == messages
    assert one.last_time == (messages[-1].time if messages else None)


@pytest.mark.parametrize("data", [b"", b"{}", b"PAR1", b"\xff\xff\xff\xff\x10"])
def test_files_are_no_ranges(data: bytes) -> None:
    assert not is_log(data)

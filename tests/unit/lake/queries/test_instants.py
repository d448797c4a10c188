"""Points in time as people type them."""

from datetime import datetime, timedelta, timezone

import pytest

from headwater.errors import UsageError
from headwater.lake.queries.instants import (
    describe_instant,
    format_instant,
    is_instant,
    is_point,
    parse_instant,
    parse_since,
    parse_time,
)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("20261121060030193", "20261121060030193"),
        (" 20261121060030193 ", "20261121060030193"),
        ("2026-11-21T06:00:30.193Z", "20261121060030193"),
        ("2026-11-21T06:00:30.193999+00:00", "20261121060030193"),
        ("2026-11-21T07:00:30.193+01:00", "20261121060030193"),
        ("2026-11-21 06:00:30", "20261121060030000"),
        ("2026-11-21T06:00", "20261121060000000"),
        ("2026-11-21", "20261121000000000"),
        ("2024-02-29", "20240229000000000"),
    ],
)
def test_times_become_17_digits_in_utc(text, instant):
    assert parse_instant(text, end_of_second=True) == instant
    assert parse_since(text) == instant
    assert is_point(text)


def test_14_digits_are_a_whole_second():
    assert parse_instant("20261121060030", end_of_second=True) == "20261121060030999"
    assert parse_since("20261121060030") == "20261121060030000"


@pytest.mark.parametrize(
    "text",
    [
        *("", "yesterday", "90m", "20261121", "2026112106003", "2026112106003019", "202611210600301930"),
        *(
            "20261321060030193",
            "20260230000000",
            "2026-02-30",
            "2026-11-21T25:00",
            "2026-11-21T",
            "21.11.2026",
        ),
    ],
)
def test_other_values_are_rejected_with_allowed_values(text):
    with pytest.raises(UsageError, match="is not a point in time") as refused:
        parse_instant(text, end_of_second=True)
    assert "2026-01-31T12:00:00Z" in refused.value.hint


def test_earliest_is_before_every_instant():
    assert parse_since("earliest") == ""
    assert is_point("earliest")
    assert not is_point("90m")


def test_only_digits_are_spelled_as_on_the_timeline():
    assert is_instant("20261121060030193")
    assert is_instant("20261121060030")
    assert not is_instant("2026-11-21")


def test_instants_and_times_are_each_others_inverse():
    time = datetime(2026, 1, 2, 3, 4, 5, 67_000, tzinfo=timezone(timedelta(hours=-5)))
    assert format_instant(time) == "20260102080405067"
    assert parse_time("20260102080405067") == time
    assert describe_instant("20260102080405067") == "20260102080405067 (2026-01-02T08:04:05.067Z)"

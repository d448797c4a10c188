"""How far a clock may be off."""

from datetime import datetime, timedelta, timezone

import pytest

from headwater.sources.s3.judging.clock import judge_clock

NOW = datetime(2026, 5, 1, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("seconds", "status"), [(0, "ok"), (60, "ok"), (61, "warning"), (300, "warning"), (301, "problem")]
)
@pytest.mark.parametrize(("sign", "word"), [(1, "ahead"), (-1, "behind")])
def test_a_clock_is_judged_by_minutes_either_way(seconds: int, status: str, sign: int, word: str) -> None:
    finding = judge_clock(NOW + timedelta(seconds=sign * seconds), NOW)
    assert finding.status == status
    assert status == "ok" or word in finding.detail

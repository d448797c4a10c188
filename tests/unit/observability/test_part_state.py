"""The state of a part after each report, and the health and readiness of all parts together."""

from datetime import datetime, timedelta, timezone

import pytest

from headwater.observability.part_state import PartState, PartStatus, advance, find_obstacles, judge_health

NOON = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
LATER = NOON + timedelta(minutes=1)


def at(status: PartStatus, error: str = "", attempt: int = 0) -> PartState:
    return PartState(status, NOON, error, attempt)


def test_a_new_state_has_the_time_of_its_report_and_the_same_state_keeps_its_own() -> None:
    assert advance(at("waiting"), "working", LATER) == PartState("working", LATER)
    assert advance(at("working"), "working", LATER) == at("working")


def test_failed_attempts_are_counted_since_the_first_until_a_success() -> None:
    state = advance(at("working"), "retrying", NOON, "no space")
    assert state == at("retrying", "no space", 1)
    state = advance(advance(state, "working", LATER), "retrying", LATER, "still no space")
    assert state == at("retrying", "still no space", 2)
    assert advance(state, "waiting", LATER) == PartState("waiting", LATER)


@pytest.mark.parametrize(
    ("states", "health"),
    [
        ([], "ok"),
        ([at("starting"), at("waiting"), at("working"), at("running"), at("up"), at("stopped")], "ok"),
        ([at("running"), at("retrying", "no answer", 1)], "degraded"),
        ([at("retrying", "no answer", 1), at("failed", "a bug"), at("running")], "failed"),
        ([at("lost", "the JVM has ended")], "failed"),
    ],
)
def test_health_is_that_of_the_worst_part(states: list[PartState], health: str) -> None:
    assert judge_health(states) == health


READY = {"session": at("up"), "lease": at("up"), "table-orders": at("waiting"), "index": at("starting")}


@pytest.mark.parametrize(
    ("change", "obstacles"),
    [
        ({}, []),
        ({"table-orders": at("retrying", "no answer", 3)}, []),
        ({"session": at("starting")}, ["the Spark session is starting"]),
        ({"session": at("lost", "it has ended")}, ["session: lost: it has ended"]),
        ({"lease": at("waiting")}, ["standby: another process writes the tables"]),
        (
            {"lease": at("waiting"), "session": at("starting")},
            ["standby: another process writes the tables"],
        ),
        ({"table-orders": at("starting")}, ["table-orders: starting"]),
        ({"table-orders": at("failed", "a check")}, ["table-orders: failed: a check"]),
        ({"index": at("failed")}, ["index: failed"]),
    ],
)
def test_a_run_is_ready_once_the_session_is_up_and_every_table_has_started(
    change: dict[str, PartState], obstacles: list[str]
) -> None:
    assert find_obstacles(READY | change) == obstacles


def test_a_run_without_a_session_is_not_ready() -> None:
    assert find_obstacles({}) == ["the Spark session is not up"]

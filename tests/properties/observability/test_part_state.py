"""Whatever a run's threads report, a dead part stays dead, and the health is that of the worst part."""

from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from headwater.observability.part_state import (
    PartState,
    PartStatus,
    advance,
    find_obstacles,
    judge_health,
)

START = datetime(2026, 6, 1, tzinfo=timezone.utc)
STATUSES = st.sampled_from(get_args(PartStatus))
REPORTS = st.lists(STATUSES, max_size=30)


def follow(reports: list[PartStatus]) -> list[PartState]:
    states = [PartState("starting", START)]
    for second, status in enumerate(reports, 1):
        error = "wrong" if status in ("failed", "lost", "retrying") else ""
        states.append(advance(states[-1], status, START + timedelta(seconds=second), error))
    return states


@given(REPORTS)
def test_death_is_final(reports: list[PartStatus]) -> None:
    states = follow(reports)
    for before, after in pairwise(states):
        if before.is_dead:
            assert after == before


@given(REPORTS)
def test_an_error_is_present_exactly_while_a_part_is_not_healthy(reports: list[PartStatus]) -> None:
    for state in follow(reports):
        assert bool(state.error) == (state.health != "ok")
        assert bool(state.attempt) == (state.status == "retrying")


@given(REPORTS)
def test_time_never_runs_backwards(reports: list[PartStatus]) -> None:
    times = [state.since for state in follow(reports)]
    assert times == sorted(times)


@given(st.lists(REPORTS, max_size=5), st.randoms(use_true_random=False))
def test_health_does_not_depend_on_the_order_and_no_part_improves_it(histories, random) -> None:
    states = [follow(reports)[-1] for reports in histories]
    ranks = ["ok", "degraded", "failed"]
    shuffled = random.sample(states, len(states))
    assert judge_health(shuffled) == judge_health(states)
    for state in states:
        assert ranks.index(judge_health(states)) >= ranks.index(state.health)
    if judge_health(states) == "failed":
        assert find_obstacles({str(at): state for at, state in enumerate(states)})

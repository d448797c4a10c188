"""Bisection finds exactly the units that fail, in few tries."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.ingest.isolation.bisection import TooManyTriesError, find_failing

cases = st.integers(1, 300).flatmap(
    lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1), min_size=1))
)


class Trials:
    def __init__(self, bad: set[int]) -> None:
        self.bad = bad
        self.count = 0

    def __call__(self, units: Sequence[int]) -> str | None:
        self.count += 1
        failing = [unit for unit in units if unit in self.bad]
        return f"{failing[0]} is bad" if failing else None


@given(cases)
def test_exactly_the_failing_units_are_found_with_their_reasons_in_few_tries(case):
    count, bad = case
    trials = Trials(bad)
    found = find_failing(range(count), trials, max_tries=10_000)
    assert found == {unit: f"{unit} is bad" for unit in bad}
    assert trials.count <= min(2 * len(bad) * (math.ceil(math.log2(count)) + 1), 2 * count)


@given(cases, st.integers(0, 20))
def test_no_more_tries_are_made_than_allowed(case, allowed):
    count, bad = case
    trials = Trials(bad)
    try:
        assert find_failing(range(count), trials, allowed).keys() == bad
    except TooManyTriesError:
        assert trials.count == allowed
    assert trials.count <= allowed


@given(st.integers(2, 100).flatmap(lambda n: st.tuples(st.just(n), st.integers(2, n))))
def test_units_that_fail_only_together_are_not_blamed(case):
    count, least = case
    found = find_failing(
        range(count), lambda units: "too many" if len(units) >= least and len(units) > 1 else None, 1000
    )
    assert found == {}


def test_exception_of_a_trial_ends_the_search():
    def attempt(units: Sequence[int]) -> str | None:
        raise OSError("the disk")

    with pytest.raises(OSError, match="the disk"):
        find_failing(range(4), attempt, 100)

"""A token applies its change once, and for a quarter of an hour."""

import pytest

from headwater.errors import UsageError
from headwater.mcp.plans import LIFETIME_SECONDS, Plans


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_each_token_stands_for_its_own_command_once() -> None:
    plans = Plans(Clock())
    first, second = plans.add(("a",)), plans.add(("b",))
    assert plans.take(second) == ("b",)
    assert plans.take(first) == ("a",)
    with pytest.raises(UsageError, match="unknown, used"):
        plans.take(first)


def test_a_token_expires() -> None:
    clock = Clock()
    plans = Plans(clock)
    early, late = plans.add(("a",)), plans.add(("b",))
    clock.seconds = LIFETIME_SECONDS - 1
    assert plans.take(early) == ("a",)
    clock.seconds = LIFETIME_SECONDS
    with pytest.raises(UsageError, match="15 minutes"):
        plans.take(late)


def test_an_invented_token_and_forgotten_plans_are_refused() -> None:
    plans = Plans(Clock())
    tokens = [plans.add((str(at),)) for at in range(101)]
    assert plans.take(tokens[-1]) == ("100",)
    assert plans.take(tokens[1]) == ("1",)
    for token in (tokens[0], "", "guess"):
        with pytest.raises(UsageError):
            plans.take(token)

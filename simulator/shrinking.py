"""Shrinks a failure: removes steps as long as the same invariant stays broken."""

from simulator.bugs import NO_BUGS, Bugs
from simulator.scenario import Scenario, Step
from simulator.world import run_scenario


def shrink(scenario: Scenario, code: str, bugs: Bugs = NO_BUGS, budget: int = 2_000) -> Scenario:
    """Returns a scenario that breaks the same invariant with the fewest steps found in `budget` runs."""

    def fails(steps: tuple[Step, ...]) -> bool:
        nonlocal budget
        budget -= 1
        broken = run_scenario(scenario.with_steps(steps), bugs).broken
        return broken is not None and broken.code == code

    steps = scenario.steps
    size = max(1, len(steps) // 2)
    while budget > 0:
        at, has_shrunk = 0, False
        while at < len(steps) and budget > 0:
            kept = steps[:at] + steps[at + size :]
            if fails(kept):
                steps, has_shrunk = kept, True
            else:
                at += size
        if size == 1 and not has_shrunk:
            break
        size = max(1, size // 2)
    return scenario.with_steps(steps)

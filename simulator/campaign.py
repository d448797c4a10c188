"""Runs episodes one after another until a number of steps is reached or an invariant is broken."""

import math
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from simulator.bugs import NO_BUGS, Bugs
from simulator.scenario import Scenario, StepName, build_scenario
from simulator.shrinking import shrink
from simulator.violation import InvariantBrokenError
from simulator.world import run_scenario

_SEEDS_APART = 1_000_000


@dataclass(slots=True)
class Findings:
    """Holds the first failure in `broken` and a small scenario that reproduces it in `smallest`, or None."""

    seed: int
    steps: int = 0
    episodes: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    episode_seed: int = 0
    broken: InvariantBrokenError | None = None
    smallest: Scenario | None = None

    @property
    def steps_a_second(self) -> float:
        return self.steps / self.seconds if self.seconds else 0.0


def run_campaign(
    seed: int,
    steps: int,
    bugs: Bugs = NO_BUGS,
    *,
    emphasis: Collection[StepName] = (),
    shrinks: bool = True,
    seconds: float = math.inf,
) -> Findings:
    """Runs episodes with seeds derived from `seed`; stops at the first that breaks an invariant.

    After `seconds` no further episode begins, but one always does.
    """
    findings = Findings(seed)
    started = time.monotonic()
    while findings.steps < steps and findings.broken is None:
        if findings.episodes and time.monotonic() - started >= seconds:
            break
        findings.episode_seed = seed * _SEEDS_APART + findings.episodes
        scenario = build_scenario(findings.episode_seed, emphasis=emphasis)
        report = run_scenario(scenario, bugs)
        findings.episodes += 1
        findings.steps += report.steps
        findings.counts += report.counts
        if report.broken is not None:
            findings.broken = report.broken
            findings.smallest = shrink(scenario, report.broken.code, bugs) if shrinks else scenario
    findings.seconds = time.monotonic() - started
    return findings

"""Run the simulator: `python -m simulator.run --seed N --steps M`, or `make simulate SEED=N STEPS=M`.

Exit codes: 0 all invariants held, 1 one was broken, 2 the arguments make no sense.
"""

import argparse
import logging
import math
import sys
from collections import Counter
from collections.abc import Sequence

import structlog

from simulator.bugs import BUGS, NO_BUGS, Bugs
from simulator.campaign import Findings, run_campaign
from simulator.scenario import Scenario, build_scenario
from simulator.shrinking import shrink
from simulator.world import run_scenario

_PRINTED_COUNTS = (
    ("died", ("crashes", "kills")),
    ("notifications", ("delivered", "reordered", "duplicated", "dropped", "replayed", "rubbish")),
    ("queue", ("received", "redelivered", "stale handles", "dead letters", "over limit", "deleted")),
    ("store", ("404", "412", "races", "unavailable")),
    (
        "commits",
        (
            "events commits",
            "data commits",
            "overlapping commits",
            "failed commits",
            "unknown commits",
            "rollbacks",
        ),
    ),
    ("timeline", ("archived", "service commits")),
)


def main(arguments: Sequence[str]) -> int:
    """Runs the simulator as requested; returns the exit code."""
    asked = _parse(arguments)
    # The product logs thousands of warnings about injected faults.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    bugs: Bugs = frozenset([asked.bug]) if asked.bug else NO_BUGS
    if asked.episode is not None:
        return _replay(build_scenario(asked.episode), bugs)
    findings = run_campaign(asked.seed, asked.steps, bugs, seconds=asked.minutes * 60)
    print(f"seed {findings.seed}: {findings.steps} steps in {findings.episodes} episodes, ", end="")
    print(f"{findings.steps_a_second:.0f} steps/s")
    _print_counts(findings.counts)
    if findings.broken is None:
        print("all invariants hold")
        return 0
    _print_failure(findings, bugs)
    return 1


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m simulator.run", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the same seed takes the same steps")
    parser.add_argument("--steps", type=int, default=100_000, help="about how many")
    parser.add_argument("--minutes", type=float, default=math.inf, help="fewer steps when these have passed")
    parser.add_argument("--episode", type=int, help="only this episode, with its whole trace")
    parser.add_argument("--bug", choices=sorted(BUGS), metavar="NAME", help="switch a mistake on")
    asked = parser.parse_args(arguments)
    if asked.steps < 1:
        parser.error("--steps: 1 or more")
    return asked


def _print_counts(counts: Counter[str]) -> None:
    for name, parts in _PRINTED_COUNTS:
        print(f"  {name + ':':15} " + ", ".join(f"{part} {counts[part]}" for part in parts))
    points = {name.removeprefix("crash: "): n for name, n in counts.items() if name.startswith("crash: ")}
    print("  died at:        " + ", ".join(f"{point} {n}" for point, n in sorted(points.items())))


def _print_failure(findings: Findings, bugs: Bugs) -> None:
    assert findings.smallest is not None
    print(f"BROKEN {findings.broken}")
    print(f"episode {findings.episode_seed}; the whole of it: make simulate EPISODE={findings.episode_seed}")
    print("the fewest steps that were found to break the same invariant, and what they did:")
    print(findings.smallest.describe())
    print("\n".join(run_scenario(findings.smallest, bugs).trace))


def _replay(scenario: Scenario, bugs: Bugs) -> int:
    report = run_scenario(scenario, bugs)
    print(scenario.describe())
    print("\n".join(report.trace))
    if report.broken is None:
        print("all invariants hold")
        return 0
    print("the fewest steps that were found to break the same invariant:")
    print(shrink(scenario, report.broken.code, bugs).describe())
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Measure ours and the floor in turns, so that what else the machine does falls on both."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.rig.processes import read_cpu_seconds

_STARTED = time.monotonic()


@dataclass(frozen=True, slots=True)
class Pair:
    """One measurement of each, right after each other."""

    value: float
    floor: float

    @property
    def ratio(self) -> float:
        """`value / floor`."""
        return self.value / self.floor


def say(text: str) -> None:
    """Progress for people: time since the start and the load average go with it."""
    load = os.getloadavg()[0]
    print(f"[{time.monotonic() - _STARTED:6.1f} s, load {load:4.1f}] {text}", file=sys.stderr, flush=True)


def measure_pairs(ours: Callable[[], float], floor: Callable[[], float], count: int) -> list[Pair]:
    """`count` pairs; which of the two comes first alternates.

    The CPU seconds that it says beside each are those of this process and its children: on a busy
    machine their ratio tells more than the wall time's.
    """
    pairs = []
    for at in range(count):
        if at % 2 == 0:
            floor_value, floor_cpu = _with_cpu(floor)
            value, cpu = _with_cpu(ours)
        else:
            value, cpu = _with_cpu(ours)
            floor_value, floor_cpu = _with_cpu(floor)
        ratio = value / floor_value
        say(
            f"pair {at + 1} of {count}: ours {value:.3f} ({cpu:.1f} s CPU), "
            f"floor {floor_value:.3f} ({floor_cpu:.1f} s CPU), ratio {ratio:.3f}"
        )
        pairs.append(Pair(value, floor_value))
    return pairs


def measure_turns(steps: Mapping[str, Callable[[], float]], floor: str, count: int) -> dict[str, Pair]:
    """Run all steps `count` times, starting with another one each time.

    Returns, for each step except `floor`, the pair with the median ratio to `floor` of the same turn.
    """
    names, turns = list(steps), []
    for at in range(count):
        first = at % len(names)
        turns.append({name: steps[name]() for name in names[first:] + names[:first]})
        shown = ", ".join(f"{name} {turns[-1][name]:.3f}" for name in names)
        say(f"turn {at + 1} of {count}: {shown}")
    return {
        name: choose_median([Pair(turn[name], turn[floor]) for turn in turns])
        for name in names
        if name != floor
    }


def _with_cpu(measure: Callable[[], float]) -> tuple[float, float]:
    before = read_cpu_seconds(os.getpid())
    value = measure()
    return value, read_cpu_seconds(os.getpid()) - before


def choose_median(pairs: list[Pair]) -> Pair:
    """The pair whose ratio is the median; of an even number the lower one in the middle."""
    return sorted(pairs, key=lambda pair: pair.ratio)[(len(pairs) - 1) // 2]

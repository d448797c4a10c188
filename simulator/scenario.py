"""`Scenario`: everything one episode does, fixed beforehand; the world itself makes no random choices.

A step is a name and two numbers that choose among what exists at that time. Any subset of steps is
therefore valid, which makes it possible to shrink a failure.
"""

import random
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

from simulator.outside.bucket import Versioning
from simulator.product.data_rows import TableKind

StepName = Literal[
    "put",
    "remove",
    "remove_version",
    "tag",
    "deliver",
    "duplicate",
    "drop",
    "replay",
    "rubbish",
    "receive",
    "commit",
    "delete",
    "beat",
    "ingest",
    "save",
    "service",
    "race",
    "reconcile",
    "request",
    "redrive",
    "outage",
    "fail",
    "advance",
    "crash",
    "kill",
    "stop",
    "clean",
]
STEP_NAMES: tuple[StepName, ...] = get_args(StepName)


class Step(NamedTuple):
    """The method of `World` that runs the step defines the meaning of `a` and `b`."""

    name: StepName
    a: int = 0
    b: int = 0

    def __str__(self) -> str:
        return f"{self.name}({self.a}, {self.b})"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One episode: settings and steps. `seed` only records the origin."""

    seed: int
    steps: tuple[Step, ...]
    versioning: Versioning = "off"
    tables: tuple[TableKind, ...] = ("mirror",)
    keys: int = 2
    max_files: int = 4
    max_messages: int = 6
    keep_events: int = 4
    keep_data: int = 16
    max_receives: int = 5
    max_in_flight: int = 60
    # The crash point at which the process dies, counted from the start; 0: only where a step requests it.
    crash_at: int = 0

    def with_steps(self, steps: tuple[Step, ...]) -> "Scenario":
        return replace(self, steps=steps)

    def describe(self) -> str:
        settings = (
            f"seed={self.seed} versioning={self.versioning} tables={','.join(self.tables)} "
            f"keys={self.keys} max_files={self.max_files} max_messages={self.max_messages}"
        )
        return "\n".join([settings, *(f"  {at:3} {step}" for at, step in enumerate(self.steps))])


# Frequency of steps in every episode. All other steps are enabled per episode: runs in which some steps
# never happen reach deeper than runs in which every step happens a little.
_ALWAYS = {"put": 14, "deliver": 22, "receive": 12, "commit": 10, "delete": 8, "ingest": 16}
_SOMETIMES = {
    "remove": 6,
    "remove_version": 5,
    "tag": 2,
    "duplicate": 5,
    "drop": 3,
    "replay": 2,
    "rubbish": 2,
    "beat": 3,
    "save": 2,
    "service": 2,
    "race": 5,
    "reconcile": 6,
    "redrive": 1,
    "outage": 1,
    "fail": 2,
    "advance": 5,
    "crash": 4,
    "kill": 2,
    "stop": 1,
}
# An object put and deleted again without notification looks the same as a cleaned one.
_NOT_WHILE_CLEANING = frozenset({"drop", "remove_version"})
_EMPHASIS = 15
_NUMBERS = 1 << 16
EPISODE_STEPS = 120
_KINDS: tuple[TableKind, ...] = get_args(TableKind)


def build_scenario(seed: int, steps: int = EPISODE_STEPS, emphasis: Collection[StepName] = ()) -> Scenario:
    """Builds the episode of a seed; equal seeds give equal episodes. Steps of `emphasis` are frequent."""
    dice = random.Random(seed)
    weights = dict(_ALWAYS)
    for name, weight in _SOMETIMES.items():
        if dice.random() < 0.6:
            weights[name] = weight
    weights |= dict.fromkeys(emphasis, _EMPHASIS)
    cleans = "clean" in emphasis
    if cleans:
        weights = {name: weight for name, weight in weights.items() if name not in _NOT_WHILE_CLEANING}
    names = dice.choices(list(weights), list(weights.values()), k=steps)
    steps_taken = [_build_step(name, dice) for name in names]
    other: tuple[TableKind, ...] = (dice.choice(_KINDS[1:]),) if dice.random() < 0.7 else ()
    return Scenario(
        seed=seed,
        steps=tuple(steps_taken if emphasis else _mix_requests(steps_taken, seed)),
        versioning=dice.choice(("off", "on")),
        tables=("mirror", *other),
        keys=dice.choice((1, 2, 2, 4)),
        max_files=dice.choice((1, 3, 8)),
        max_messages=dice.choice((2, 6)),
        keep_events=dice.choice((2, 5, 30)),
        keep_data=dice.choice((16, 30)),
        max_receives=1_000 * cleans + dice.choice((3, 5)),
        max_in_flight=dice.choice((8, 60)),
    )


def _mix_requests(steps: list[Step], seed: int) -> list[Step]:
    """Turns some steps of most episodes into requests, by a separate generator: seeds keep their meaning."""
    dice = random.Random(f"requests {seed}")
    share = dice.choice((0.0, 0.02, 0.08))
    return [step._replace(name="request") if dice.random() < share else step for step in steps]


def _build_step(name: str, dice: random.Random) -> Step:
    found = next(known for known in STEP_NAMES if known == name)
    # Choose the first candidate most of the time, so that most of an episode takes the normal path.
    a = 0 if found == "deliver" and dice.random() < 0.5 else dice.randrange(_NUMBERS)
    return Step(found, a, dice.randrange(_NUMBERS))

"""All small cases: up to three operations on two keys, six ways of delivery, a crash at every crash point.

Most faults found in storage systems need at most three operations, so these cases are enumerated instead
of sampled.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Literal, NamedTuple, get_args

from simulator.bugs import NO_BUGS, Bugs
from simulator.outside.bucket import Versioning
from simulator.product.data_rows import TableKind
from simulator.scenario import Scenario, Step
from simulator.world import Report, World

Operation = Literal["put", "overwrite", "remove", "put again"]
Delivery = Literal["in order", "reversed", "first twice", "last twice", "first lost", "first delayed"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)
DELIVERIES: tuple[Delivery, ...] = get_args(Delivery)
KEYS = 2
TABLES: tuple[TableKind, ...] = ("mirror", "append")

_CONTENTS = {"put": 2, "overwrite": 1, "put again": 2}
# Each table is processed in turn until nothing is left, as in an undisturbed run.
_ROUND = (
    Step("receive", 9),
    Step("commit", 0),
    Step("delete", 4, 1),
    Step("ingest", 0),
    Step("ingest", 1),
)
_END = (*_ROUND, Step("ingest", 0), Step("ingest", 1), Step("save", 0), Step("save", 1))


class Case(NamedTuple):
    """One workload in one order of delivery. `crash_at` 0 means no crash."""

    operations: tuple[tuple[Operation, int], ...]
    delivery: Delivery
    versioning: Versioning
    crash_at: int = 0


def list_workloads(longest: int) -> Iterator[tuple[tuple[Operation, int], ...]]:
    """Lists all sequences of one to `longest` operations, each on one key, the first one on the first key.

    Exchanging the keys would only repeat the same sequences.
    """
    choices = tuple(product(OPERATIONS, range(KEYS)))
    for length in range(longest):
        for first, *rest in product(((name, 0) for name in OPERATIONS), *(choices for _ in range(length))):
            yield (first, *rest)


def list_cases(longest: int, versionings: Sequence[Versioning] = ("off", "on")) -> Iterator[Case]:
    """Lists every case without a crash; `iter_deaths` yields the variants of a case with one."""
    for operations, delivery, versioning in product(list_workloads(longest), DELIVERIES, versionings):
        yield Case(operations, delivery, versioning)


def build_case(case: Case) -> Scenario:
    """Builds the scenario of a case."""
    operations = [_build_operation(name, key) for name, key in case.operations]
    return Scenario(
        seed=0,
        steps=(*_deliver(operations, case.delivery), *_END),
        versioning=case.versioning,
        tables=TABLES,
        keys=KEYS,
        crash_at=case.crash_at,
    )


def _build_operation(name: Operation, key: int) -> Step:
    # The upper part of the number selects sequencers of different lengths.
    return Step("remove", key, 3) if name == "remove" else Step("put", key, _CONTENTS[name] + 12 * (1 + key))


def _deliver(operations: Sequence[Step], delivery: Delivery) -> list[Step]:
    first, count = operations[0], len(operations)
    if delivery == "in order":
        return [step for operation in operations for step in (operation, Step("deliver"), *_ROUND)]
    if delivery == "reversed":
        return [*operations, *(s for at in range(count) for s in (Step("deliver", count - 1 - at), *_ROUND))]
    if delivery == "first twice":
        delivered = [step for _ in range(count) for step in (Step("deliver"), *_ROUND)]
        return [*operations, Step("duplicate"), *_ROUND, *delivered]
    if delivery == "last twice":
        delivered = [step for _ in range(count - 1) for step in (Step("deliver"), *_ROUND)]
        return [*operations, *delivered, Step("duplicate"), *_ROUND, Step("deliver")]
    if delivery == "first lost":
        later = [step for operation in operations[1:] for step in (operation, Step("deliver"), *_ROUND)]
        return [first, Step("drop"), *later]
    late = [step for operation in operations[1:] for step in (operation, Step("deliver", 1), *_ROUND)]
    return [first, *late, Step("advance", 4), Step("deliver")]


def iter_deaths(case: Case, every: int = 1) -> Iterator[Case]:
    """Yields the case with a crash at each crash point it passes, or at every `every`-th."""
    world = World(build_case(case))
    for step in world.scenario.steps:
        world.take(step)
    for at in range(1, world.crashes.passed + 1, every):
        yield case._replace(crash_at=at)


def run_case(case: Case, bugs: Bugs = NO_BUGS) -> Report:
    """Runs the case until the world is at rest."""
    return World(build_case(case), bugs).run()

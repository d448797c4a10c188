"""A lake kept by several processes, each with its own part; any of them may die at any time."""

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headwater.errors import LakeError
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.command import Running
from tests.fixtures.end_to_end.kill_workload import TABLES, Workload
from tests.fixtures.end_to_end.pipeline import Pipeline
from tests.fixtures.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_500)]

PARTS = {
    "capture": ("--only", "capture"),
    "capture, too": ("--only", "capture"),
    "clicks": ("--only", "tables", "--table", "clicks"),
    "orders and shop": ("--only", "tables", "--table", "orders", "--table", "shop"),
    "services": ("--only", "services"),
}
SERVED = {"table_type": "merge_on_read", "services": "async", "compact_after": 3}
STOP_SECONDS = 120


class Processes:
    """One process for each part, started again when it was killed."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self.running: dict[str, Running] = {}

    def start(self, part: str) -> None:
        self.running[part] = self._pipeline.start("run", *PARTS[part])

    def kill(self, part: str) -> None:
        self.running[part].finish_by_force()

    def check(self) -> None:
        """None has ended by itself."""
        for part, running in self.running.items():
            assert not running.is_over, f"{part}: {running.finish(1)}"

    def stop(self) -> None:
        # A process that has just been started does not handle signals yet. One has two leases: it reconciles.
        wait_until(lambda: len(self._pipeline.read_json("status")["writers"]) > len(PARTS), "writers", 120)
        for running in self.running.values():
            running.signal(signal.SIGTERM)
        for running in self.running.values():
            running.finish(STOP_SECONDS).expect(0)


@contextmanager
def started(pipeline: Pipeline) -> Iterator[Processes]:
    processes = Processes(pipeline)
    try:
        for part in PARTS:
            processes.start(part)
        yield processes
    finally:
        for running in processes.running.values():
            running.finish_by_force()


@pytest.fixture
def workload(emulator: EmulatorSession, tmp_path: Path) -> Workload:
    queue = {"max_messages_per_batch": 20, "receivers": 1}
    tables = {**TABLES, "shop": {**TABLES["shop"], **SERVED}}
    pipeline = Pipeline(emulator, tmp_path, tables, queue=queue)
    pipeline.config |= {"lock": {"provider": "file_system", "expire_minutes": 1}}
    pipeline.config["spark"] = {"driver_memory": "1g", "master": "local[1]"}
    pipeline.write_config()
    return Workload(pipeline)


def find_difference(workload: Workload) -> str:
    """What the tables lack, or have too much of; empty when they are what was sent."""
    pipeline = workload.pipeline
    try:
        pairs = {
            "clicks": (workload.find_clicks(), sum(workload.clicks.values(), Counter())),
            "orders": (pipeline.rows("orders", "id", "ts", "state"), workload.orders()),
            "shop": (pipeline.rows("shop", "product", "round", "n"), workload.shop()),
            "quarantine": (workload.find_quarantine(), sum(workload.quarantine.values(), Counter())),
        }
    except (LakeError, OSError, RuntimeError) as error:  # a file that a service has just cleaned
        return f"unreadable: {error}"
    return "; ".join(
        f"{name}: missing {wanted - found}, too much {found - wanted}"
        for name, (found, wanted) in pairs.items()
        if found != wanted
    )


def wait_until_equal(workload: Workload, processes: Processes, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while difference := find_difference(workload):
        processes.check()
        assert time.monotonic() < deadline, difference
        time.sleep(1)


def assert_exact(workload: Workload) -> None:
    assert find_difference(workload) == ""
    assert workload.pipeline.queue_depth() == (0, 0)


def storm(workload: Workload, processes: Processes, seconds: float, pause: float, seed: int) -> int:
    """Send rounds and kill one process after the other, at random; return how many were killed."""
    chance, until, killed = random.Random(seed), time.monotonic() + seconds, 0
    while time.monotonic() < until:
        workload.send_round(f"round {len(workload.rounds)}")
        time.sleep(chance.uniform(0, pause))
        part = chance.choice(list(PARTS))
        processes.check()
        processes.kill(part)
        processes.start(part)
        killed += 1
    return killed


def test_each_part_has_a_process_and_status_names_them(workload: Workload) -> None:
    pipeline = workload.pipeline
    with started(pipeline) as processes:
        workload.send_round("first")
        wait_until_equal(workload, processes, 240)
        wait_until(lambda: len(pipeline.read_json("status")["writers"]) > len(PARTS), "writers", 60)
        found = {
            writer["process"]: (writer["command"], writer["tables"], writer["shared"])
            for writer in pipeline.read_json("status")["writers"]
            if writer["tables"] != ["reconciles"]
        }
        own = ["ledger", "quarantine"]
        assert found == {
            processes.running[part].process.pid: what
            for part, what in {
                "capture": ("run --only capture", [], ["events", *own]),
                "capture, too": ("run --only capture", [], ["events", *own]),
                "clicks": ("run --only tables", ["clicks"], own),
                "orders and shop": ("run --only tables", ["orders", "shop"], own),
                "services": ("run --only services", ["shop"], []),
            }.items()
        }

        # A standby waits, and takes over at once when the process before it dies.
        standby = pipeline.start("run", *PARTS["clicks"])
        try:
            processes.kill("clicks")
            processes.running["clicks"] = standby
            workload.send_round("second")
            wait_until_equal(workload, processes, 120)
        finally:
            if processes.running["clicks"] is not standby:
                standby.finish_by_force()
        processes.stop()
    assert_exact(workload)


@pytest.mark.parametrize(
    ("seconds", "pause"), [(60, 20), pytest.param(600, 30, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_whatever_process_dies_the_tables_equal_the_bucket(
    workload: Workload, seconds: float, pause: float
) -> None:
    with started(workload.pipeline) as processes:
        workload.send_round("first")
        killed = storm(workload, processes, seconds, pause, seed=21)
        assert killed >= 3
        wait_until_equal(workload, processes, 300)
        processes.stop()
    assert_exact(workload)

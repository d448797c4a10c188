"""How a run ends by a signal: an orderly stop within a minute, whoever of the process group gets it."""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.fixtures.end_to_end.command import Running
from tests.fixtures.end_to_end.kill_workload import list_markers, list_pending
from tests.fixtures.end_to_end.pipeline import Pipeline
from tests.fixtures.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TABLES = {"clicks": {"path": "clicks/*.json"}}
EARLY = [f"clicks/{at}.json" for at in range(5)]
LATE = [f"clicks/late-{at}.json" for at in range(20)]
STOP_SECONDS = 60


@pytest.fixture
def pipeline(emulator, tmp_path) -> Pipeline:
    built = Pipeline(emulator, tmp_path, TABLES)
    built.put_all({key: json.dumps({"n": at}) + "\n" for at, key in enumerate(EARLY)})
    return built


@contextmanager
def started(pipeline: Pipeline, *words: str) -> Iterator[Running]:
    running = pipeline.start(*words)
    try:
        yield running
    finally:
        running.finish_by_force()


def begin_second_batch(pipeline: Pipeline, running: Running) -> None:
    """Return while a data file of the second batch is being written."""
    running.wait_until(lambda: pipeline.rows("clicks", "n").total() == 5, "rows of the first objects")
    table = pipeline.path_of("clicks")
    before = list_markers(table)
    pipeline.put_all(dict.fromkeys(LATE, '{"n": 100}\n'))
    running.wait_until(lambda: list_markers(table) - before, "a data file of the second batch")


def find_session_leaders(running: Running) -> list[int]:
    """The JVM of the Spark session; headwater asks `java -version` in its own process session before."""
    return [pid for pid in running.find_processes("java") if os.getsid(pid) == pid]


def check_nothing_is_lost(pipeline: Pipeline, keys: list[str]) -> None:
    # A message that is not committed is not held either: another consumer can receive it at once.
    assert pipeline.queue_depth()[1] == 0
    committed = Counter(event["key"] for event in pipeline.records("events"))
    assert committed + Counter(pipeline.drain_keys()) == Counter(keys)


@pytest.mark.parametrize(
    ("number", "to_group"),
    [
        (signal.SIGTERM, True),
        pytest.param(signal.SIGTERM, False, marks=pytest.mark.long),
        pytest.param(signal.SIGINT, True, marks=pytest.mark.long),
    ],
)
def test_signal_during_a_batch_ends_the_run_in_order(pipeline, number, to_group):
    with started(pipeline, "run") as running:
        begin_second_batch(pipeline, running)
        (running.signal_group if to_group else running.signal)(number)
        run = running.finish(STOP_SECONDS).expect(0)
    assert "Traceback" not in run.stdout + run.stderr
    # The batch in hand is finished.
    assert list_pending(pipeline.path_of("clicks")) == set()
    assert pipeline.rows("clicks", "n")[(100,)] > 0
    check_nothing_is_lost(pipeline, [*EARLY, *LATE])


def test_signal_to_the_group_while_the_jvm_starts(pipeline):
    # A slow machine starts the JVM and completes a batch in more than the 25 seconds of the default.
    with started(pipeline, "--set", "stop_timeout=55s", "run") as running:
        running.wait_until(lambda: find_session_leaders(running), "a JVM that starts")
        running.signal_group(signal.SIGTERM)
        run = running.finish(STOP_SECONDS).expect(0)
    assert "Traceback" not in run.stdout + run.stderr
    assert "error: " not in run.stderr
    check_nothing_is_lost(pipeline, EARLY)


def test_the_jvm_does_not_outlive_a_killed_python(pipeline):
    with started(pipeline, "run") as running:
        begin_second_batch(pipeline, running)
        assert running.find_processes("java")
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait()
        killed = time.monotonic()
        wait_until(lambda: not running.find_processes("java"), "the end of the JVM", 10)
        # Half a second on a quiet machine.
        assert time.monotonic() - killed < 3
        assert running.find_processes() == []
    pipeline.run_once().expect(0)
    assert pipeline.rows("clicks", "n") == Counter({**{(n,): 1 for n in range(5)}, (100,): len(LATE)})

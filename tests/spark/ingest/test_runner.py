"""What becomes of a table whose thread meets an exception that nothing foresaw."""

import logging
import threading
import time
from collections import Counter

import pytest
from pyspark.sql import SparkSession

from headwater.errors import DefectError, HeadwaterError, LakeError, TableMismatchError
from headwater.ingest.planning.outcome import BatchResult
from headwater.ingest.runner import Runner, Schedule
from headwater.lake.commit_signal import CommitSignal
from headwater.observability.part_board import PartBoard
from tests.fixtures.waiting import wait_until

UNFORESEEN = KeyError("no such place")


class BrokenPipeline:
    """Raises in so many batches, and then has nothing to do."""

    name = "orders"

    def __init__(self, failures: int, error: Exception) -> None:
        self._left = failures
        self._error = error

    def run_batch(self) -> BatchResult | None:
        if self._left:
            self._left -= 1
            raise self._error
        return None

    def save_checkpoint(self) -> bool:
        return False


class ReadyPipeline(BrokenPipeline):
    """Has these batches, and then nothing to do."""

    def __init__(self, *results: BatchResult) -> None:
        super().__init__(0, UNFORESEEN)
        self._results = [*results]

    def run_batch(self) -> BatchResult | None:
        return self._results.pop(0) if self._results else None


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runner, "_sleep", lambda *_: None)


def start(
    spark: SparkSession, failures: int, error: Exception = UNFORESEEN, board: PartBoard | None = None
) -> tuple[Runner, list[HeadwaterError], threading.Event]:
    noted: list[HeadwaterError] = []
    given_up = threading.Event()

    def note(table: str, error: HeadwaterError) -> None:
        noted.append(error)
        if table in runner.failures:
            given_up.set()

    runner = Runner(spark, CommitSignal(), [BrokenPipeline(failures, error)], lambda _: None, note)
    runner.report_to(board or PartBoard())
    runner.start()
    return runner, noted, given_up


def test_it_is_logged_counted_and_tried_again(spark, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        runner, noted, given_up = start(spark, failures=2)
        runner.finish()
    assert runner.failures == {}
    assert not given_up.is_set()
    assert [type(error) for error in noted] == [DefectError, DefectError]
    assert "unexpected KeyError: 'no such place'" in noted[0].message
    assert "KeyError" in caplog.text


def test_a_jvm_that_does_not_answer_is_no_defect(spark, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        runner, noted, _ = start(spark, failures=1, error=ConnectionRefusedError(111, "Connection refused"))
        runner.finish()
    assert [type(error) for error in noted] == [LakeError]
    assert noted[0].message.startswith("table orders: the JVM is not responding: ")
    assert "Traceback" not in caplog.text


def test_its_attempts_and_its_recovery_are_on_the_board(spark) -> None:
    board, seen = PartBoard(), []
    board.subscribe(lambda _, state: seen.append((state.status, state.attempt)))
    runner, _, _ = start(spark, failures=2, error=LakeError("no space left"), board=board)
    runner.finish()
    assert runner.failures == {}
    ordered = list(dict.fromkeys(seen))
    assert ordered[:2] == [("starting", 0), ("waiting", 0)]
    assert ordered.index(("retrying", 1)) < ordered.index(("retrying", 2)) < seen.index(("stopped", 0))
    assert board.read()["table-orders"].error == ""


def test_a_table_that_is_given_up_is_dead_on_the_board(spark) -> None:
    board = PartBoard()
    runner, _, given_up = start(spark, failures=1, error=TableMismatchError("another key"), board=board)
    assert given_up.wait(30)
    runner.stop()
    state = board.read()["table-orders"]
    assert (state.status, state.error) == ("failed", "another key")


def test_an_error_of_an_observer_is_no_silent_death(spark) -> None:
    board, noted = PartBoard(), []

    def fail(result: BatchResult) -> None:
        raise ValueError("a bug of an observer")

    pipeline = ReadyPipeline(BatchResult("orders", "", Counter(), Counter()))
    runner = Runner(spark, CommitSignal(), [pipeline], fail, lambda _, error: noted.append(error))
    runner.report_to(board)
    runner.start()
    runner.finish()
    assert [type(error) for error in noted] == [DefectError]
    assert isinstance(runner.failures["orders"], DefectError)
    assert board.read()["table-orders"].is_dead


def test_one_that_stays_is_given_up_as_a_failure(spark) -> None:
    runner, noted, given_up = start(spark, failures=100)
    assert given_up.wait(30)
    runner.stop()
    # Each failed attempt, and that it was given up.
    assert len(noted) == 5
    assert isinstance(runner.failures["orders"], DefectError)
    assert runner.failures["orders"].exit_code == 1


class SourcePipeline(BrokenPipeline):
    """Has one batch of a second when it is released, and ends when it is drained."""

    def __init__(self, name: str, seen: list[str]) -> None:
        super().__init__(0, UNFORESEEN)
        self.name = name
        self.released = threading.Event()
        self._seen = seen

    def run_batch(self) -> BatchResult | None:
        if self.name not in self._seen and self.released.is_set():
            time.sleep(1)
            self._seen.append(self.name)
            return BatchResult(self.name, "1", Counter(), Counter(), committed=True)
        return None


def test_a_table_of_several_ends_after_the_last_of_them(spark: SparkSession) -> None:
    seen: list[str] = []
    sources = [SourcePipeline("orders", seen), SourcePipeline("customers", seen)]

    class Follower(BrokenPipeline):
        name = "joined"

        def run_batch(self) -> BatchResult | None:
            new = [name for name in ("orders", "customers") if name in seen and f"{name} joined" not in seen]
            seen.extend(f"{name} joined" for name in new)
            return BatchResult(self.name, "1", Counter(), Counter()) if new else None

    schedule = Schedule(follows={"joined": ("orders", "customers", "s3a://other/table")})
    pipelines = [Follower(0, UNFORESEEN), *sources]
    events = CommitSignal()
    runner = Runner(spark, events, pipelines, lambda _: None, lambda *_: None, schedule=schedule)
    runner.start()
    sources[0].released.set()
    events.wake()
    # A commit of either wakes it, before it reads the timelines again because of other processes.
    wait_until(lambda: "orders joined" in seen, "the first source", CommitSignal.external_seconds - 1)
    sources[1].released.set()
    runner.finish()
    assert seen == ["orders", "orders joined", "customers", "customers joined"]
    assert runner.failures == {}


@pytest.mark.parametrize("interval", [0, 3_600])
def test_batches_keep_their_interval_unless_there_is_a_backlog_or_the_run_ends(
    spark, interval: float
) -> None:
    def build(committed: bool, more: bool) -> BatchResult:
        return BatchResult("orders", "", Counter(), Counter(), committed=committed, more=more)

    kinds = [(True, True), (True, True), (False, False), (True, False), (True, False)]
    seen: list[BatchResult] = []
    pipeline = ReadyPipeline(*(build(*kind) for kind in kinds))
    signal = CommitSignal()
    schedule = Schedule(intervals={"orders": interval})
    runner = Runner(spark, signal, [pipeline], seen.append, lambda *_: None, schedule=schedule)
    runner.start()
    wait_until(lambda: len(seen) >= 4, "four batches", 30)
    for _ in range(5):
        signal.wake()
        time.sleep(0.05)
    assert len(seen) == (4 if interval else 5)
    runner.finish()
    assert len(seen) == 5

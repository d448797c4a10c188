"""What all components of a run have in common."""

import threading
from collections.abc import Callable

from headwater.app.components import BackgroundLoop, RunReport
from headwater.capture.consumer import CaptureStats
from headwater.errors import SourceUnavailableError
from headwater.observability.part_board import PartBoard
from tests.fixtures.waiting import wait_until


class Working(BackgroundLoop):
    def __init__(self, work: Callable[[threading.Event], None], *, is_alive: bool = True) -> None:
        super().__init__("working", lambda: is_alive)
        self._work = work

    def work(self, stop: threading.Event) -> None:
        self._work(stop)


def fail(stop: threading.Event) -> None:
    raise ValueError("wrong")


def test_stopping_waits_for_the_work_and_may_be_repeated() -> None:
    ended = threading.Event()

    def work(stop: threading.Event) -> None:
        assert stop.wait(10)
        ended.set()

    loop = Working(work)
    loop.start()
    loop.stop()
    loop.stop()
    assert ended.is_set()
    assert loop.defect is None


def test_its_state_is_reported_from_the_start_to_the_end() -> None:
    board, may_end = PartBoard(), threading.Event()

    def work(_: threading.Event) -> None:
        may_end.wait(10)

    loop = Working(work)
    loop.report_to(board)
    assert board.read()["working"].status == "starting"
    loop.start()
    wait_until(lambda: board.read()["working"].status == "running")
    may_end.set()
    wait_until(lambda: board.read()["working"].status == "stopped")


def test_one_that_never_started_can_be_stopped() -> None:
    Working(fail).stop()


def test_a_defect_is_kept() -> None:
    loop = Working(fail)
    loop.start()
    wait_until(lambda: loop.defect is not None)
    assert str(loop.defect) == "wrong"


def test_a_dead_loop_is_on_the_board() -> None:
    board, loop = PartBoard(), Working(fail)
    loop.report_to(board)
    loop.start()
    wait_until(lambda: board.read()["working"].is_dead)
    assert board.read()["working"].error == "wrong"


def test_failures_of_a_dying_jvm_are_no_defects() -> None:
    loop = Working(fail, is_alive=False)
    loop.start()
    loop.stop()
    assert loop.defect is None


def test_a_failure_is_reported_under_the_components_name() -> None:
    loop, report = Working(fail), RunReport(CaptureStats(), {}, {})
    loop.add_to(report)
    assert report.component_failures == {}
    loop.failure = SourceUnavailableError("away")
    loop.add_to(report)
    assert report.component_failures == {"working": loop.failure}

"""Cleaning beside a run: it waits, goes on after trouble, stops at once, and never hides a defect."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import pytest

from headwater.app.cleaning import CleanLoop, CleanSource
from headwater.app.cleaning.loop import choose_pause
from headwater.app.components import RunReport
from headwater.capture.consumer import CaptureStats
from headwater.errors import SourceUnavailableError
from tests.fixtures.waiting import wait_until


@dataclass
class ScriptedPasses:
    """Stands for the passes: each raises what the script says, or nothing."""

    script: list[Exception | None]
    passes: int = 0
    failures: int = 0
    on_pass: Callable[[threading.Event], None] = field(default=lambda _: None)

    def run_pass(self, stop: threading.Event) -> None:
        self.passes += 1
        self.on_pass(stop)
        if self.script and (error := self.script.pop(0)):
            raise error

    def count_failure(self) -> None:
        self.failures += 1


def build(
    passes: ScriptedPasses, *, is_alive: bool = True, is_drained: Callable[[], bool] = lambda: True
) -> CleanLoop:
    loop = CleanLoop(cast("CleanSource", passes), 0, is_drained, lambda: is_alive, first_seconds=0.0)
    loop._pause = 0.01
    return loop


@pytest.mark.parametrize(("delay", "pause"), [(0, 60), (3600, 360), (86_400, 3600), (2_592_000, 3600)])
def test_an_object_waits_for_a_little_longer_than_its_delay(delay: float, pause: float) -> None:
    assert choose_pause(delay) == pause


def test_trouble_is_counted_and_the_next_pass_comes() -> None:
    passes = ScriptedPasses([SourceUnavailableError("away"), None])
    loop = build(passes)
    loop.start()
    wait_until(lambda: passes.passes >= 3)
    loop.stop()
    assert (passes.failures, loop.defect) == (1, None)


def test_a_defect_ends_the_passes_and_is_kept() -> None:
    defect = ValueError("wrong")
    passes = ScriptedPasses([defect])
    loop = build(passes)
    loop.start()
    wait_until(lambda: loop.defect is not None)
    loop.stop()
    assert (loop.defect, passes.passes) == (defect, 1)


def test_failures_of_a_dying_jvm_are_no_defects() -> None:
    passes = ScriptedPasses([ValueError("connection")])
    loop = build(passes, is_alive=False)
    loop.start()
    wait_until(lambda: passes.passes == 1)
    loop.stop()
    assert loop.defect is None


def test_stopping_reaches_the_pass_in_hand() -> None:
    begun = threading.Event()

    def wait_for_stop(stop: threading.Event) -> None:
        begun.set()
        assert stop.wait(10)

    passes = ScriptedPasses([], on_pass=wait_for_stop)
    loop = build(passes)
    loop.start()
    assert begun.wait(10)
    loop.stop()
    assert passes.passes == 1


def test_queued_messages_are_processed_first() -> None:
    passes = ScriptedPasses([])
    asked: list[int] = []

    def is_drained() -> bool:
        asked.append(passes.passes)
        return len(asked) > 1

    loop = build(passes, is_drained=is_drained)
    loop.start()
    wait_until(lambda: passes.passes >= 1)
    loop.stop()
    assert asked[:2] == [0, 0]


def test_a_queue_that_never_gets_empty_does_not_hinder_stopping() -> None:
    passes = ScriptedPasses([])
    asked = threading.Event()

    def is_drained() -> bool:
        asked.set()
        return False

    loop = build(passes, is_drained=is_drained)
    loop.start()
    assert asked.wait(10)
    loop.stop()
    assert passes.passes == 0


def test_a_loop_that_never_began_can_be_stopped() -> None:
    build(ScriptedPasses([])).stop()


def test_a_run_that_ends_by_itself_cleans_once_unless_it_is_stopped() -> None:
    passes = ScriptedPasses([])
    stopped = threading.Event()
    stopped.set()
    build(passes).catch_up(stopped)
    assert passes.passes == 0
    build(passes).catch_up(threading.Event())
    assert passes.passes == 1


def test_a_pass_that_fails_is_counted_and_reported() -> None:
    error = SourceUnavailableError("away")
    passes = ScriptedPasses([error])
    loop, report = build(passes), RunReport(CaptureStats(), {}, {})
    with pytest.raises(SourceUnavailableError):
        loop.catch_up(threading.Event())
    loop.add_to(report)
    assert (passes.failures, report.cleans) == (1, [])

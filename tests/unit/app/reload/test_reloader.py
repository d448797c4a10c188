"""A reload is checked while the run continues, and ends the run only if it can continue with it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prometheus_client import CollectorRegistry

from headwater.app.reload import Reloader
from headwater.app.reload.reloader import CONFIGURATION
from headwater.config.settings import Settings
from headwater.errors import ConfigError, HeadwaterError
from headwater.observability.metrics import Metrics
from headwater.observability.part_board import PartBoard
from tests.fixtures.waiting import wait_until


def build(lake: str = "/lake", **tables: str) -> Settings:
    found = {name: {"path": path} for name, path in tables.items()}
    return Settings.model_validate(
        {"source": {"type": "s3", "bucket": "landing"}, "lake": lake, "tables": found}
    )


class Rig:
    def __init__(self) -> None:
        self.stop, self.requested = threading.Event(), threading.Event()
        self.board, self.registry = PartBoard(), CollectorRegistry()
        self.file: Settings | HeadwaterError = build(orders="*.json")
        self.unusable: Exception | None = None
        self.checked: list[Settings] = []

    def load(self) -> Settings:
        if isinstance(self.file, HeadwaterError):
            raise self.file
        return self.file

    def check(self, settings: Settings) -> None:
        self.checked.append(settings)
        if self.unusable:
            raise self.unusable

    @contextmanager
    def working(self) -> Iterator[Reloader]:
        reloader = Reloader(build(orders="*.json"), self.load, self.check, self.stop, self.requested)
        reloader.report_to(self.board, Metrics(self.registry))
        with reloader.working():
            yield reloader

    def read_metric(self) -> float | None:
        return self.registry.get_sample_value("headwater_config_reload_successful")

    def read_part(self) -> Any:
        state = self.board.read().get(CONFIGURATION)
        return state and (state.status, state.error)


def test_the_run_continues_with_what_the_file_says_then() -> None:
    rig = Rig()
    rig.file = new = build(users="*.csv")
    with rig.working() as reloader:
        assert reloader.take() is None
        rig.requested.set()
        assert rig.stop.wait(10)
        assert (reloader.take(), rig.stop.is_set()) == (new, False)
        # Without a reload, `stop` is for somebody else.
        rig.stop.set()
        assert (reloader.take(), rig.stop.is_set()) == (None, True)
        rig.stop.clear()
        # The next one is compared with what the run has now.
        rig.requested.set()
        wait_until(lambda: not rig.requested.is_set(), "the request to be seen")
        rig.file = build(users="*.csv", orders="*.json")
        rig.requested.set()
        assert rig.stop.wait(10)
        assert reloader.take() == rig.file
    assert rig.read_metric() == 1


def test_a_file_that_cannot_be_used_changes_nothing_and_is_reported_until_it_is_mended() -> None:
    rig = Rig()
    rig.file = ConfigError("headwater.yaml:3: tables: missing")
    with rig.working() as reloader:
        rig.requested.set()
        wait_until(lambda: rig.read_metric() == 0, "the failure")
        assert rig.read_part() == ("retrying", "reload failed: headwater.yaml:3: tables: missing")
        rig.file = build(users="*.csv")
        rig.unusable = ConfigError("no such queue")
        rig.requested.set()
        wait_until(lambda: (rig.read_part() or "")[1].endswith("no such queue"), "the second failure")
        assert reloader.take() is None
        assert not rig.stop.is_set()
        # The file is as at the start again.
        rig.file = build(orders="*.json")
        rig.requested.set()
        wait_until(lambda: rig.read_metric() == 1, "the end of the failure")
        wait_until(lambda: rig.read_part() == ("waiting", ""), "the end of the failure")
    assert not rig.stop.is_set()


def test_an_unexpected_error_is_reported_and_the_next_reload_succeeds() -> None:
    rig = Rig()
    rig.file, rig.unusable = build(users="*.csv"), RuntimeError("a bug")
    with rig.working() as reloader:
        rig.requested.set()
        wait_until(lambda: rig.read_part() is not None, "the failure")
        assert rig.read_part() == ("retrying", "reload failed: unexpected RuntimeError: a bug")
        rig.unusable = None
        rig.requested.set()
        assert rig.stop.wait(10)
        assert reloader.take() == rig.file


def test_what_cannot_change_is_kept() -> None:
    rig = Rig()
    rig.file = build(lake="/other", users="*.csv")
    with rig.working() as reloader:
        rig.requested.set()
        assert rig.stop.wait(10)
        assert reloader.take() == build(users="*.csv")
    assert rig.checked == [build(users="*.csv")]


def test_a_change_for_the_next_start_only_ends_no_run() -> None:
    rig = Rig()
    rig.file = build(lake="/other", orders="*.json")
    with rig.working() as reloader:
        rig.requested.set()
        wait_until(lambda: rig.read_metric() == 1, "the reload")
        assert reloader.take() is None
    assert (rig.checked, rig.stop.is_set()) == ([], False)

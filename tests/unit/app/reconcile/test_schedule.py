"""When reconciles run beside the live flow."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from headwater.app.reconcile.schedule import (
    CAUGHT_UP_SECONDS,
    PassSchedule,
    choose_due,
    choose_first_due,
    is_caught_up,
)
from headwater.capture.reconcile import ReconcilePass
from headwater.capture.reconcile.passes import START, find_unfinished, select_since
from headwater.config.source import ReconcileConfig
from headwater.errors import HeadwaterError, SourceUnavailableError
from headwater.observability.clock import ManualClock

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
DAY = 86_400.0
SECOND = timedelta(seconds=1)


def build_pass(started_at: datetime = NOW, **fields: Any) -> ReconcilePass:
    known: dict[str, Any] = {"finished_at": started_at + timedelta(minutes=1), "listing": "listing"}
    return ReconcilePass(f"p-{started_at}", "b", "", started_at=started_at, **(known | fields))


class Rig:
    """Runs a schedule until it has made so many passes; each look at the time lets an hour go by."""

    def __init__(self, passes: int, past: list[ReconcilePass] | None = None, **config: Any) -> None:
        self.clock = ManualClock(NOW)
        self.config = ReconcileConfig.model_validate(config)
        self.past = list(past or [])
        self.wanted = passes
        self.started: list[float] = []
        self.until: list[datetime] = []
        self.failures: list[HeadwaterError] = []
        self.fail_first = False
        self.unsettled = 0
        self.stop = threading.Event()
        self.step = 3600.0

    def run_pass(self, stop: threading.Event, captured_until: datetime) -> ReconcilePass:
        self.until.append(captured_until)
        self.started.append(self.clock.monotonic())
        if len(self.started) >= self.wanted:
            stop.set()
        if self.fail_first and len(self.started) == 1:
            raise SourceUnavailableError("503")
        done = build_pass(self.clock.now(), unsettled=self.unsettled)
        self.past.append(done)
        return done

    def run(self, captured_until: Callable[[datetime], datetime | None] = lambda now: now) -> list[float]:
        """`captured_until` is given the time and says up to when the queue is captured."""
        rig = self

        class HourlyStop(threading.Event):
            def wait(self, timeout: float | None = None) -> bool:
                rig.clock.advance(rig.step)
                return self.is_set() or rig.stop.is_set()

        schedule = PassSchedule(
            self.run_pass, lambda: self.past, self.config, self.clock, on_failure=self.failures.append
        )
        schedule.run(HourlyStop(), lambda: captured_until(self.clock.now()))
        return self.started


def test_the_first_pass_comes_at_the_start_and_the_next_ones_at_intervals() -> None:
    assert Rig(3).run() == [0, DAY, 2 * DAY]


def test_a_restart_lists_again_at_once() -> None:
    assert Rig(1, [build_pass(NOW - timedelta(hours=1))]).run() == [0]


def test_a_pass_waits_until_capture_has_caught_up_however_long_that_takes(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    def captured_until(now: datetime) -> datetime | None:
        """Unknown for a minute; then ten minutes of backlog melt away within the next two hours."""
        elapsed = now - NOW
        behind = max(timedelta(minutes=10) - elapsed / 12, SECOND)
        return None if elapsed < timedelta(minutes=1) else now - behind

    rig = Rig(1, settle_seconds=60)
    rig.step = 20
    (started,) = rig.run(captured_until)
    # A minute behind is what settle_seconds leaves to notifications anyway.
    assert started == 9 * 60 * 12
    assert rig.until == [NOW + timedelta(seconds=started - 60)]
    # Printed, or logged once another test has set logging up.
    said = capsys.readouterr().out + caplog.text
    assert said.count("reconcile is waiting for capture to catch up") == 1


def test_every_pass_waits_not_just_the_first() -> None:
    rig = Rig(2)
    rig.step = 600.0

    def captured_until(now: datetime) -> datetime:
        is_behind = timedelta(days=1) <= now - NOW < timedelta(days=1, hours=2)
        return now - timedelta(hours=1) if is_behind else now

    assert rig.run(captured_until) == [0, DAY + 2 * 3600]


def test_a_stop_ends_the_wait() -> None:
    rig = Rig(1)
    rig.stop.set()
    assert rig.run(lambda _now: None) == []


@pytest.mark.parametrize(("behind", "is_so"), [(0, True), (30, True), (31, False)])
def test_caught_up_is_a_matter_of_seconds(behind: int, is_so: bool) -> None:
    until = NOW - timedelta(seconds=behind)
    assert is_caught_up(until, NOW, timedelta(seconds=CAUGHT_UP_SECONDS)) is is_so


def test_without_existing_files_the_interval_counts_from_the_first_start() -> None:
    begun = build_pass(NOW - timedelta(hours=20), listing=START)
    assert Rig(1, [begun], include_existing_files=False).run() == [4 * 3600]


def test_without_an_interval_there_is_one_pass_and_without_both_there_is_none() -> None:
    assert Rig(9, backfill_interval="off").run() == [0]
    assert Rig(9, backfill_interval="off", include_existing_files=False).run() == []


def test_a_pass_that_fails_is_counted_and_tried_again() -> None:
    rig = Rig(2)
    rig.fail_first, rig.step = True, 60
    assert rig.run() == [0, 300]
    assert [str(error) for error in rig.failures] == ["503"]


def test_recent_objects_of_the_first_pass_are_compared_later() -> None:
    rig = Rig(3, settle_seconds=60)
    rig.unsettled, rig.step = 5, 30
    assert rig.run() == [0, 60, 60 + DAY]


def test_a_folder_that_is_watched_is_listed_at_intervals_only() -> None:
    config = ReconcileConfig()
    assert choose_first_due([], config, NOW, is_watched=True) == NOW + timedelta(days=1)
    assert choose_first_due([build_pass()], config, NOW, is_watched=True) == NOW + timedelta(days=1)
    old = build_pass(NOW - timedelta(days=3))
    due = choose_first_due([old], config, NOW, is_watched=True)
    assert due is not None
    assert due < NOW
    never = ReconcileConfig.model_validate({"backfill_interval": "off"})
    assert choose_first_due([], never, NOW, is_watched=True) is None


def test_an_inventory_replaces_no_listing() -> None:
    listed = build_pass(NOW - timedelta(hours=3))
    inventory = build_pass(NOW - timedelta(hours=1), listing="s3://m/manifest.json")
    assert choose_due([listed, inventory], DAY, NOW) == listed.started_at + timedelta(days=1)


@pytest.mark.parametrize(
    ("newest", "found"),
    [
        ({}, False),
        ({"finished_at": None}, True),
        ({"finished_at": None, "started_at": NOW - timedelta(days=1)}, False),
        ({"finished_at": None, "listing": "s3://m/manifest.json"}, False),
    ],
)
def test_only_the_newest_unfinished_listing_of_today_is_resumed(newest: dict[str, Any], found: bool) -> None:
    older = build_pass(NOW - timedelta(days=3), finished_at=None)
    last = replace(build_pass(NOW - timedelta(hours=2)), **newest)
    assert (find_unfinished([older, last], "listing", NOW) is not None) == found


def test_a_pass_from_before_a_restore_is_not_resumed_and_does_not_count_as_done() -> None:
    begun = build_pass(NOW - timedelta(hours=2), finished_at=None)
    before, after = NOW - timedelta(hours=3), NOW - timedelta(hours=1)
    assert find_unfinished([begun], "listing", NOW, before) == begun
    assert find_unfinished([begun], "listing", NOW, after) is None
    assert select_since([begun], after) == []
    assert select_since([begun], None) == [begun]

"""SIGKILL of the whole process group, everywhere: after a restart nothing is lost and nothing is double.

A JVM start costs most of a run, so the kills follow each other on one lake: each run has to recover
from the kill before, takes a new round of objects, and dies at the next place; the last one is left alone.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.command import Finished
from tests.fixtures.end_to_end.kill_workload import TABLES, Workload, kill_during_commit, list_pending
from tests.fixtures.end_to_end.pipeline import Pipeline
from tests.fixtures.end_to_end.product import RUN_SECONDS, Row

# With :2, a first batch is committed and a second one is in work. The first hit of a point of capture
# may come while the JVM still starts.
POINTS = (
    "after_receive",
    "before_quarantine_commit",
    "before_events_commit",
    "before_events_commit:2",
    "after_events_commit:2",
    "mid_delete",
    "before_ingest_quarantine_commit",
    "before_data_commit",
    "after_data_commit",
    "before_ledger_commit",
)
COMMITS = {f"data files of {table}": table for table in ("events", "clicks", "orders", "shop")}
PLACES = (*POINTS, *COMMITS)
# One of each kind, on either side of what must not happen twice.
OFTEN = (
    "before_events_commit:2",
    "after_events_commit:2",
    "mid_delete",
    "before_data_commit",
    "after_data_commit",
    "before_ledger_commit",
    "data files of orders",
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@dataclass(frozen=True)
class AfterKill:
    """What a reader finds when the process is dead."""

    run: Finished
    events_twice: int
    quarantined_twice: int
    clicks_too_many: Counter[Row]
    was_pending: bool


def often_or_long(places: Iterable[str]) -> list[Any]:
    return [place if place in OFTEN else pytest.param(place, marks=pytest.mark.long) for place in places]


def build_workload(emulator: EmulatorSession, folder: Path) -> Workload:
    # One receiver and small batches: a round is two batches at least.
    queue = {"max_messages_per_batch": 10, "receivers": 1}
    return Workload(Pipeline(emulator, folder, TABLES, queue=queue))


def kill_at(workload: Workload, place: str) -> AfterKill:
    """Send a round, run, die there, and look at what is left."""
    pipeline = workload.pipeline
    workload.send_round(place)
    table = pipeline.path_of(COMMITS.get(place, "events"))
    if place in POINTS:
        run = pipeline.run_once(crash_point=place)
    else:
        running = pipeline.start("run", "--once")
        kill_during_commit(running, table)
        run = running.finish(10)
    return AfterKill(
        run=run,
        events_twice=count_twice(event["event_id"] for event in pipeline.records("events")),
        quarantined_twice=count_twice(item["quarantine_id"] for item in pipeline.records("quarantine")),
        clicks_too_many=workload.find_clicks() - sum(workload.clicks.values(), Counter()),
        was_pending=bool(list_pending(table)),
    )


def count_twice(ids: Iterable[str]) -> int:
    counted = Counter(ids)
    return counted.total() - len(counted)


def assert_complete(workload: Workload) -> None:
    """Everything that was ever sent is where it belongs, once."""
    pipeline = workload.pipeline
    for name in workload.rounds:
        assert workload.find_clicks(name) == workload.clicks[name]
    assert pipeline.rows("orders", "id", "ts", "state") == workload.orders()
    assert pipeline.rows("shop", "product", "round", "n") == workload.shop()
    assert workload.find_quarantine() == sum(workload.quarantine.values(), Counter())
    assert Counter(event["key"] for event in pipeline.records("events")) == Counter(
        key for keys in workload.keys.values() for key in keys
    )
    assert pipeline.queue_depth() == (0, 0)


@dataclass(frozen=True)
class Killed:
    """One lake after all kills that some test wants, by place."""

    workload: Workload
    after: dict[str, AfterKill]


@pytest.fixture(scope="module")
def killed(request, emulator, tmp_path_factory) -> Killed:
    # A lake of its own each time: what failed halfway is not gone on with when the test is tried again.
    workload = build_workload(emulator, tmp_path_factory.mktemp("kills"))
    asked = [item for item in request.session.items if item.path == request.path]
    wanted = {value for item in asked if hasattr(item, "callspec") for value in item.callspec.params.values()}
    return Killed(workload, {place: kill_at(workload, place) for place in PLACES if place in wanted})


@pytest.fixture(scope="module")
def recovered(killed: Killed) -> Workload:
    killed.workload.pipeline.run_once().expect(3)
    return killed.workload


@pytest.mark.parametrize("point", often_or_long(POINTS))
def test_killed_at_the_point_a_reader_finds_nothing_twice(killed, point):
    after = killed.after[point]
    assert after.run.was_killed, after.run.stderr
    assert (after.events_twice, after.quarantined_twice, after.clicks_too_many) == (0, 0, Counter())


@pytest.mark.parametrize("commit", often_or_long(COMMITS))
def test_killed_during_a_commit_a_reader_finds_nothing_twice(killed, commit):
    after = killed.after[commit]
    assert after.run.was_killed, after.run.stderr
    assert after.was_pending, "the kill came too late to show anything"
    assert (after.events_twice, after.quarantined_twice, after.clicks_too_many) == (0, 0, Counter())


@pytest.mark.parametrize("place", often_or_long(PLACES))
def test_events_before_a_kill_are_ingested_once_after_restart(recovered, place):
    assert recovered.find_clicks(place) == recovered.clicks[place]
    events = Counter(event["key"] for event in recovered.pipeline.records("events"))
    # A product's object is written in several rounds.
    keys = {key for key in recovered.keys[place] if not key.startswith("shop/")}
    assert Counter({key: events[key] for key in keys}) == Counter(keys)
    assert recovered.find_quarantine() & recovered.quarantine[place] == recovered.quarantine[place]


def test_all_tables_and_the_queue_are_exact_after_all_kills(recovered):
    assert_complete(recovered)


@pytest.mark.long
@pytest.mark.parametrize("tables", ["new", "existing"])
@pytest.mark.parametrize("place", PLACES)
def test_one_restart_makes_good_one_kill(emulator, tmp_path, place, tables):
    workload = build_workload(emulator, tmp_path)
    if tables == "existing":
        workload.send_round("before")
        workload.pipeline.run_once().expect(3)
    assert kill_at(workload, place).run.was_killed
    workload.pipeline.run_once().expect(3)
    assert_complete(workload)


FIRST_COMMITS = {
    "events-quarantine-clicks": ("events", "quarantine", "clicks"),
    "orders-ledger": ("orders", "ledger"),
    "shop": ("shop",),
}


@pytest.mark.parametrize("tables", FIRST_COMMITS.values(), ids=FIRST_COMMITS)
def test_tables_killed_in_their_first_commits_recover(emulator, tmp_path, tables):
    workload = build_workload(emulator, tmp_path)
    pipeline = workload.pipeline
    workload.send_round("first")
    for table in tables:
        path = pipeline.path_of(table)
        running = pipeline.start("run", "--once")
        kill_during_commit(running, path)
        assert running.finish(10).was_killed
        assert list_pending(path), "the kill came too late to show anything"
        # What was killed is pending, or missing where no event was committed.
        pipeline.command("verify", timeout=RUN_SECONDS).expect(0, 3)
    pipeline.run_once().expect(3)
    assert_complete(workload)

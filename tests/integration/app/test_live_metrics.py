"""The gauges of a live run, as a scraper sees them: what waits, what is in flight, who is behind."""

import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.command import Running
from tests.fixtures.end_to_end.pipeline import NO_RECONCILE, Pipeline
from tests.fixtures.free_port import find_free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

OBJECTS, IN_FLIGHT = 30, 10
# The emulator sends a test event, too, when the bucket's notification is set.
WAITING = OBJECTS + 1 - IN_FLIGHT
TABLES: dict[str, dict[str, Any]] = {
    "clicks": {"path": "clicks/*.json"},
    # Stops at its first batch, and stays behind.
    "stuck": {"path": "clicks/*.json", "checks": [{"row_count": {"min": 1_000}}]},
}
Samples = dict[tuple[str, str], float]


def scrape(port: int) -> Samples:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
    except OSError:
        return {}
    return {
        (sample.name, sample.labels.get("table", "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def leads_session(pid: int) -> bool:
    """False also for a process that has ended since it was found."""
    try:
        return os.getsid(pid) == pid
    except ProcessLookupError:
        return False


@contextmanager
def suspended_jvm(running: Running) -> Iterator[None]:
    """The JVM of the Spark session does nothing inside; so nothing is committed."""

    def find_jvm() -> list[int]:
        return [pid for pid in running.find_processes("java") if leads_session(pid)]

    running.wait_until(find_jvm, "a JVM that starts")
    (jvm,) = find_jvm()
    os.kill(jvm, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(jvm, signal.SIGCONT)


def build_pipeline(emulator: EmulatorSession, folder: Path) -> Pipeline:
    queue = {"max_in_flight": IN_FLIGHT, "receivers": 1}
    built = Pipeline(emulator, folder, TABLES, queue=queue, reconcile=NO_RECONCILE, visibility_seconds=30)
    built.put_all({f"clicks/{at}.json": json.dumps({"n": at}) for at in range(OBJECTS)})
    return built


def check_dead_table(pipeline: Pipeline, port: int) -> None:
    """Its death is in the probes, and in the status that another process reads."""
    for path in ("healthz", "readyz"):
        with pytest.raises(urllib.error.HTTPError, match="503") as raised:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5)
        assert "row_count" in raised.value.read().decode()
    (state,) = pipeline.read_json("status", "--json")["writers"]
    assert state["health"] == "failed"
    assert state["parts"]["table-stuck"]["status"] == "failed"
    assert state["parts"]["table-clicks"]["status"] in ("waiting", "working")


def test_gauges_follow_a_live_run(
    emulator: EmulatorSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pipeline = build_pipeline(emulator, tmp_path_factory.mktemp("metrics"))
    port = find_free_port()
    running = pipeline.start("run", "--metrics-port", str(port))
    found: Samples = {}

    def see(**wanted: float) -> bool:
        found.update(scrape(port))
        return all(found.get((f"headwater_{name}", "")) == value for name, value in wanted.items())

    def lag(table: str) -> tuple[float | None, float | None]:
        names = ("headwater_lag_events", "headwater_lag_seconds")
        events, seconds = (found.get((name, table)) for name in names)
        return events, seconds

    try:
        with suspended_jvm(running):
            running.wait_until(
                lambda: see(queue_depth=WAITING, in_flight_ratio=1.0), "messages that wait", 60
            )
        assert lag("clicks") == (0, 0)
        running.wait_until(lambda: see(queue_depth=0, in_flight_ratio=0.0), "an empty queue", 120)
        running.wait_until(
            lambda: see() and lag("clicks") == (0, 0) and lag("stuck")[0] == OBJECTS, "who is behind", 120
        )
        _, age = lag("stuck")
        assert age is not None
        assert age > 0
        running.wait_until(lambda: see() and (lag("stuck")[1] or 0) > age, "an age that grows", 60)
        # Nothing here measures these: a zero would look like a measurement.
        assert not {name for name, _ in found} & {"headwater_index_lag_seconds", "headwater_searches_open"}
        assert found["headwater_objects_succeeded_total", "clicks"] == OBJECTS
        assert found["headwater_batches_failed_total", "stuck"] >= 1
        check_dead_table(pipeline, port)
        running.signal(signal.SIGTERM)
        running.finish(60).expect(1)
    except AssertionError as error:
        raise AssertionError(f"{found}") from error
    finally:
        running.finish_by_force()

"""A bucket whose notifications are lost: what one reconcile makes of it, killed, refused and alone."""

import json
from collections import Counter
from typing import Any

import pytest

from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.faulty_proxy import Fault, run_faulty_proxy, s3_error
from tests.fixtures.end_to_end.odd_keys import ODD_NAMES
from tests.fixtures.end_to_end.pipeline import Pipeline
from tests.fixtures.end_to_end.product import RUN_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

OBJECTS = 1_000
TABLES = {"clicks": {"path": "clicks/**", "format": "json"}}
MIRROR = {"mirrored": {"path": "clicks/*.json", "mode": "mirror"}}
# Four pieces a pass, and no age at which an object is left to its notification.
RECONCILE = {"settle_seconds": 0, "checkpoint_objects": 250}


def build_keys() -> list[str]:
    odd = [f"clicks/odd/{name}.json" for name in ODD_NAMES]
    return [*(f"clicks/{at:04d}.json" for at in range(OBJECTS - len(odd))), *odd]


def listing_events(pipeline: Pipeline) -> Counter[tuple[str, str]]:
    rows = pipeline.records("events")
    return Counter((row["event_name"], row["key"]) for row in rows if row["source"] == "listing")


def reconcile(pipeline: Pipeline, *words: str, code: int = 0) -> dict[str, Any]:
    """What `headwater reconcile --json` tells; it starts Spark, which takes a while on a busy machine."""
    run = pipeline.command("reconcile", *words, "--json", timeout=RUN_SECONDS).expect(code)
    output: dict[str, Any] = json.loads(run.stdout)
    return output


@pytest.fixture(scope="module")
def pipeline(emulator: EmulatorSession, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """A thousand objects, of every hundredth of which nobody was told; one run over them."""
    pipeline = Pipeline(emulator, tmp_path_factory.mktemp("reconcile"), TABLES | MIRROR, reconcile=RECONCILE)
    tap = pipeline.create_tap()
    pipeline.put_all({key: json.dumps({"key": key}) + "\n" for key in build_keys()})
    bodies = [body for body in pipeline.drain(tap) if "s3:TestEvent" not in body]
    assert len(bodies) == OBJECTS
    pipeline.announce_to(pipeline.queue_url)
    pipeline.send(*(body for at, body in enumerate(bodies) if at % 100))
    pipeline.run_once().expect(0)
    return pipeline


@pytest.fixture(scope="module")
def last_reported(pipeline: Pipeline) -> dict[str, Any]:
    output: dict[str, Any] = pipeline.read_json("status")["reconcile"]
    return output


def test_run_backfills_objects_with_lost_notifications(
    pipeline: Pipeline, last_reported: dict[str, Any]
) -> None:
    assert pipeline.rows("clicks", "key") == Counter((key,) for key in build_keys())
    lost = listing_events(pipeline)
    assert len(lost) == lost.total() == OBJECTS // 100
    assert {name for name, _ in lost} == {"headwater:ListedObject"}
    pipeline.assert_every_event_is_once()
    assert len(pipeline.records("events")) == OBJECTS


def test_status_reports_the_reconcile(last_reported: dict[str, Any]) -> None:
    assert (last_reported["listed"], last_reported["missing"], last_reported["emitted"]) == (OBJECTS, 10, 10)
    assert (last_reported["changed"], last_reported["vanished"], last_reported["unsettled"]) == (0, 0, 0)
    assert last_reported["finished_at"] > last_reported["started_at"]


@pytest.fixture(scope="module")
def changed(pipeline: Pipeline, last_reported: dict[str, Any]) -> dict[str, set[str]]:
    """Objects in every piece of the listing are overwritten and removed, and nobody is told."""
    gone = {f"clicks/{at:04d}.json" for at in range(5, 950, 100)}
    overwritten = {f"clicks/{at:04d}.json" for at in range(15, 950, 100)}
    pipeline.remove_quietly(*gone)
    pipeline.put_quietly({key: json.dumps({"key": "new " + key}) + "\n" for key in overwritten})
    return {"headwater:VanishedObject": gone, "headwater:ListedObject": overwritten}


@pytest.fixture(scope="module")
def kills(pipeline: Pipeline, changed: dict[str, set[str]]) -> list[bool]:
    """Two passes that die between pages: one before its cursor is saved, one behind it."""
    return [
        pipeline.start("reconcile", crash_point=point).finish(RUN_SECONDS).was_killed
        for point in ("after_reconcile_commit:2", "after_reconcile_cursor")
    ]


@pytest.fixture(scope="module")
def resumed(pipeline: Pipeline, kills: list[bool]) -> dict[str, Any]:
    """What the first pass tells that nobody kills."""
    assert kills == [True, True]
    output: dict[str, Any] = reconcile(pipeline)["reconcile"]
    return output


@pytest.mark.long
def test_dry_run_reports_and_writes_nothing(pipeline: Pipeline, changed: dict[str, set[str]]) -> None:
    before = listing_events(pipeline)
    output = reconcile(pipeline, "--dry-run", code=3)
    assert (output["reconcile"]["changed"], output["reconcile"]["vanished"]) == (10, 10)
    assert (output["reconcile"]["missing"], output["reconcile"]["emitted"]) == (0, 0)
    kinds = {"changed": "headwater:ListedObject", "vanished": "headwater:VanishedObject"}
    assert Counter(
        example["key"] for example in output["examples"] if example["kind"] == "changed"
    ) == Counter(changed[kinds["changed"]])
    assert listing_events(pipeline) == before


@pytest.mark.long
def test_killed_between_pages_reconcile_resumes_and_emits_once(
    pipeline: Pipeline, changed: dict[str, set[str]], resumed: dict[str, Any]
) -> None:
    assert resumed["finished_at"]
    assert resumed["listed"] == OBJECTS - 10
    found = listing_events(pipeline)
    for name, keys in changed.items():
        assert Counter({key: found[name, key] for key in keys}) == Counter(keys)
    pipeline.assert_every_event_is_once()
    assert len(pipeline.records("events")) == OBJECTS + 20
    # That of the first run, and the one that was killed twice.
    first, second, *_ = sorted(pipeline.records("reconciles"), key=lambda one: one["started_at"])
    assert first["finished_at"] is not None
    assert second["finished_at"] is not None
    assert second["listed"] == OBJECTS - 10


@pytest.mark.long
def test_a_further_pass_emits_nothing(pipeline: Pipeline, resumed: dict[str, Any]) -> None:
    output = reconcile(pipeline)
    assert (output["reconcile"]["listed"], output["reconcile"]["emitted"]) == (OBJECTS - 10, 0)
    assert output["examples"] == []


def test_a_mirror_equals_the_bucket_after_the_next_run(
    pipeline: Pipeline, changed: dict[str, set[str]]
) -> None:
    pipeline.run_once().expect(0)
    found = pipeline.rows("mirrored", "key")
    bodies = pipeline.read_objects("clicks/").items()
    there = Counter((json.loads(body)["key"],) for key, body in bodies if key.count("/") == 1)
    assert there.total() == OBJECTS - len(ODD_NAMES) - 10
    assert (found - there, there - found) == (Counter(), Counter()), "extra rows, missing rows"


def test_manual_reconcile_reports_waiting_notifications(
    emulator: EmulatorSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pipeline = Pipeline(emulator, tmp_path_factory.mktemp("backlog"), TABLES, reconcile=RECONCILE)
    pipeline.put_all({f"clicks/{at}.json": '{"key": "k"}\n' for at in range(3)})
    output = reconcile(pipeline, "--dry-run", code=3)
    assert output["reconcile"]["missing"] == 3
    assert output["waiting"] >= 3


@pytest.mark.long
def test_a_bucket_that_may_not_be_listed_does_not_stop_the_run(
    emulator: EmulatorSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def refuse(method: str, target: str) -> Fault | None:
        return s3_error(403, "AccessDenied") if "list-type=2" in target and method == "GET" else None

    with run_faulty_proxy(emulator.endpoint) as proxy:
        proxy.find_fault = refuse
        folder = tmp_path_factory.mktemp("refused")
        pipeline = Pipeline(emulator, folder, TABLES, endpoint=proxy.endpoint)
        pipeline.put("clicks/1.json", '{"key": "told"}\n')
        pipeline.put_quietly({"clicks/2.json": '{"key": "lost"}\n'})
        run = pipeline.run_once().expect(1)
        assert "s3:ListBucket" in run.stderr
        assert "Traceback" not in run.stderr
        assert pipeline.rows("clicks", "key") == Counter([("told",)])
        proxy.find_fault = lambda _method, _target: None
        pipeline.run_once().expect(0)
        assert pipeline.rows("clicks", "key") == Counter([("told",), ("lost",)])


@pytest.mark.long
def test_bucket_is_listed_repeatedly_during_live_ingestion(
    emulator: EmulatorSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    reconcile = {"settle_seconds": 2, "backfill_interval": "3 seconds"}
    pipeline = Pipeline(emulator, tmp_path_factory.mktemp("live"), TABLES, reconcile=reconcile)
    pipeline.put_quietly({"clicks/existing.json": '{"key": "existing"}\n'})
    running = pipeline.start("run")
    try:
        running.wait_until(lambda: pipeline.rows("clicks")[("existing",)], "rows of what was there")
        pipeline.put("clicks/told.json", '{"key": "told"}\n')
        pipeline.put_quietly({"clicks/lost.json": '{"key": "lost"}\n'})
        running.wait_until(lambda: pipeline.rows("clicks").total() == 3, "rows of what came later")
    finally:
        running.finish_by_force()
    assert pipeline.rows("clicks", "key") == Counter([("existing",), ("told",), ("lost",)])
    # Where the notification is slower than the settle age, there is an event too many, which does no harm.
    assert set(listing_events(pipeline)) >= {
        ("headwater:ListedObject", "clicks/existing.json"),
        ("headwater:ListedObject", "clicks/lost.json"),
    }

"""Daily dumps in a bucket: notifications arrive in any order, some twice and one never, and runs are killed.

The Hudi tables equal the newest complete dump, or have had all of them in turn.
"""

import json
import random
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.kill_workload import kill_during_commit
from tests.fixtures.end_to_end.pipeline import NO_RECONCILE, Pipeline

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

RULE = {"path": "dumps/day=*/*.json", "record_key": "id", "complete_when": {"marker": "_SUCCESS"}}
TABLES: dict[str, dict[str, Any]] = {
    "latest": RULE,
    "latest_log": {**RULE, "table_type": "merge_on_read"},
    "history": {**RULE, "history": "scd2"},
}
POINTS = ("before_data_commit", "after_data_commit", "after_events_commit", "before_data_commit:3")
PLACES = ("", *POINTS, "data files", "after_data_commit:4", "")
Rows = dict[int, str]


def change_rows(rows: Rows, chance: random.Random, day: int) -> Rows:
    """The rows of the next day: some changed, some removed, some new, some back again."""
    changed = {key: name for key, name in rows.items() if chance.random() > 0.1}
    for key in chance.sample(range(80), 12):
        changed[key] = f"{key} since {day}"
    return changed


def build_dump(day: int, rows: Rows, chance: random.Random) -> dict[str, str]:
    """The files of a dump, without its marker."""
    keys = sorted(rows)
    chance.shuffle(keys)
    return {
        f"dumps/day=2026-11-{day:02}/part-{at}.json": "".join(
            json.dumps({"id": key, "name": rows[key]}) + "\n" for key in keys[at::3]
        )
        for at in range(3)
    }


def build_versions(days: Sequence[tuple[int, Rows]]) -> set[tuple[int, str, int, int | None]]:
    """Id, name, first day and the day after the last one, of each version of a row."""
    versions: set[tuple[int, str, int, int | None]] = set()
    current: dict[int, tuple[str, int]] = {}
    for day, rows in days:
        ended = {key for key, (name, _) in current.items() if rows.get(key) != name}
        versions |= {(key, *current.pop(key), day) for key in ended}
        current |= {key: (name, day) for key, name in rows.items() if key not in current}
    return versions | {(key, name, begin, None) for key, (name, begin) in current.items()}


def run_until(pipeline: Pipeline, place: str) -> None:
    if place == "":
        pipeline.run_once().expect(0)
        return
    if place == "data files":
        running = pipeline.start("run", "--once")
        kill_during_commit(running, pipeline.path_of("latest_log"))
        run = running.finish(10)
    else:
        run = pipeline.run_once(crash_point=place)
    assert run.was_killed, f"{place}: {run.stderr}"


def test_the_tables_equal_the_dumps_after_kills(emulator: EmulatorSession, tmp_path: Path) -> None:
    chance = random.Random(7)
    pipeline = Pipeline(emulator, tmp_path, TABLES, reconcile=NO_RECONCILE)
    tap = pipeline.create_tap()
    rows: Rows = {}
    days: list[tuple[int, Rows]] = []
    late: list[str] = []
    for day, place in enumerate(PLACES, 1):
        rows = change_rows(rows, chance, day)
        days.append((day, rows))
        pipeline.put_all(build_dump(day, rows, chance))
        pipeline.put(f"dumps/day=2026-11-{day:02}/_SUCCESS", "")
        bodies = pipeline.drain(tap)
        chance.shuffle(bodies)
        is_last = day == len(PLACES)
        # Of the last dump, one notification is lost; of the others, some arrive with the next one.
        count = 0 if is_last else chance.randrange(1, 3)
        kept = [body for body in bodies if "part-1" not in body] if is_last else bodies[count:]
        pipeline.send(*late, *kept, *chance.sample(kept, 1))
        late = bodies[:count]
        run_until(pipeline, place)
    assert_latest(pipeline, days[-2][1])
    pipeline.config["reconcile"] = {"settle_seconds": 0}
    pipeline.write_config()
    pipeline.command("reconcile").expect(0)
    pipeline.run_once().expect(0)
    assert_latest(pipeline, days[-1][1])
    assert read_versions(pipeline) == build_versions(days)
    pipeline.command("verify", "--deep", timeout=300).expect(0)


def assert_latest(pipeline: Pipeline, rows: Rows) -> None:
    for table in ("latest", "latest_log"):
        assert dict(pipeline.rows(table, "id", "name").elements()) == rows, table


def read_versions(pipeline: Pipeline) -> set[tuple[int, str, int, int | None]]:
    def day(time: datetime | None) -> int | None:
        return None if time is None else time.astimezone(timezone.utc).day

    found = list(pipeline.rows("history", "id", "name", "valid_from", "valid_to", "is_current").elements())
    assert all(current is (end is None) for _, _, _, end, current in found)
    versions = {(key, name, day(begin) or 0, day(end)) for key, name, begin, end, _ in found}
    assert len(versions) == len(found)
    return versions

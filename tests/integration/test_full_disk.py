"""A full disk: one clear error with what is full and how much is free, and every row once afterwards."""

import json
import os
import secrets
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.end_to_end.command import Finished, Running
from tests.fixtures.small_disk import SmallDisk, mount_small_disk

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]

ROWS = 4_000
"""About 200 incompressible bytes each."""


class FullDisk:
    """A folder as source, a lake, and a disk below one of them that is too small."""

    def __init__(self, folder: Path, disk: SmallDisk, lake: Path, spark: dict[str, str]) -> None:
        self.folder = folder
        self.disk = disk
        self.lake = lake
        self._runs = 0
        source = folder / "source"
        source.mkdir()
        for file in range(2):
            rows = ({"id": file * ROWS + at, "note": secrets.token_hex(100)} for at in range(ROWS))
            (source / f"{file}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.config = folder / "headwater.yaml"
        self.config.write_text(
            json.dumps(
                {
                    "source": {"type": "local", "path": str(source), "settle_seconds": 0},
                    "lake": str(lake),
                    "tables": {"things": {"path": "*.json", "record_key": "id"}},
                    "spark": {"config": spark},
                }
            )
        )

    def run(self, *words: str) -> Finished:
        self._runs += 1
        command = ("--config", str(self.config), *words)
        folder = self.folder / f"process-{self._runs}"
        return Running(command, folder, os.environ, self.disk.enter).finish(400)

    def sql(self, query: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run("sql", query, "--json").expect(0).stdout.splitlines()]

    def assert_all_rows_once(self) -> None:
        rows = Counter(row["id"] for row in self.sql("select id from things"))
        assert rows == Counter(range(2 * ROWS))
        events = [row["event_id"] for row in self.sql("select event_id from events")]
        assert len(events) == len(set(events)) == 2


def assert_clear(run: Finished, *words: str) -> None:
    run.expect(1)
    assert "Traceback" not in run.stdout + run.stderr
    # What is tried again is a warning each time, of one line.
    [error] = (line for line in run.stderr.splitlines() if line.startswith("error: "))
    assert any(line.startswith("hint: ") for line in run.stderr.splitlines())
    for word in words:
        assert word in error


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    # Of a session some 100 kB are for the events, of the rows 1.7 MB.
    with mount_small_disk(tmp_path / "disk", "1m") as mounted:
        yield mounted


def test_lake_that_is_full_loses_nothing(tmp_path, disk):
    place = FullDisk(tmp_path, disk, disk.folder / "lake", {})
    run = place.run("run", "--once")
    assert_clear(
        run, f"no space left under {place.lake}/things (", "of 1.0 MB free", "this write was not committed"
    )
    disk.grow("64m")
    place.run("run", "--once").expect(0)
    place.assert_all_rows_once()


@pytest.mark.long
def test_full_disk_for_jars_is_reported(tmp_path, disk, monkeypatch):
    # Prepared jars are not copied.
    monkeypatch.setenv("HEADWATER_PREPARED", str(tmp_path / "nothing"))
    place = FullDisk(tmp_path, disk, tmp_path / "lake", {"spark.local.dir": str(disk.folder)})
    assert_clear(
        place.run("run", "--once"), f"no space left for its temporary files in {disk.folder} (", "MB free"
    )
    disk.grow("256m")
    place.run("run", "--once").expect(0)
    place.assert_all_rows_once()

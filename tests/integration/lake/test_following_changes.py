"""`headwater changes --follow` beside `headwater run`, stopped and killed in the middle, told once in all."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.lake.snapshot_reader import SnapshotReader
from tests.fixtures.end_to_end.command import Running, run_command

pytestmark = pytest.mark.slow

TABLES = {"cow": "copy_on_write", "mor": "merge_on_read"}


class Place:
    """A folder of files that are mirrored into a table of each type, and who follows them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.landing = folder / "landing"
        self.landing.mkdir()
        self._started: list[Running] = []
        settings = {
            "source": {"type": "local", "path": str(self.landing)},
            "lake": str(folder / "lake"),
            "tables": {
                name: {"path": "*.json", "mode": "mirror", "table_type": kind}
                for name, kind in TABLES.items()
            },
        }
        (folder / "headwater.yaml").write_text(json.dumps(settings))

    def start(self, name: str, *words: str) -> Running:
        config = ("--config", str(self.folder / "headwater.yaml"))
        self._started.append(Running([*config, *words], self.folder / name, os.environ))
        return self._started[-1]

    def follow(self, table: str, since: str, name: str) -> Running:
        return self.start(name, "changes", table, "--since", since, "--follow", "--interval", "0.2", "--json")

    def read_rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of whole commits: what a consumer takes that acts on position lines."""
        lines = [json.loads(line) for line in (self.folder / name / "stdout").read_text().splitlines()]
        ends = [at for at, line in enumerate(lines) if line["op"] == "position"]
        return lines[: ends[-1] + 1] if ends else []

    def list_commits(self, table: str) -> list[str]:
        """When those completed that changed rows: of a merge-on-read table `commit` is a compaction."""
        reader = SnapshotReader(str(self.folder / "lake" / table))
        action = "commit" if table == "cow" else "deltacommit"
        names = reader.commit_names if reader.exists() else []
        return [name.completed for name in names if name.action == action]

    def put(self, key: str, *texts: str) -> None:
        lines = (json.dumps({"id": number, "text": text}) for number, text in enumerate(texts))
        (self.landing / key).write_text("".join(f"{line}\n" for line in lines))

    def wait_for_newest(self, running: Running, table: str, name: str) -> str:
        """Until it has told the newest commit; gives its position."""
        newest = self.list_commits(table)[-1]
        running.wait_until(lambda: newest in [row["completed"] for row in self.read_rows(name)[-1:]], newest)
        return newest

    def stop(self) -> None:
        for running in self._started:
            running.finish_by_force()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    built = Place(tmp_path)
    yield built
    built.stop()


def test_a_consumer_that_is_stopped_and_killed_takes_every_change_once(place: Place) -> None:
    writer = place.start("writer", "run")

    def change(key: str, *texts: str) -> None:
        before = {name: len(place.list_commits(name)) for name in TABLES}
        if texts:
            place.put(key, *texts)
        else:
            (place.landing / key).unlink()
        writer.wait_until(
            lambda: all(len(place.list_commits(name)) > count for name, count in before.items()), "commits"
        )

    first = {name: place.follow(name, "earliest", f"{name}-1") for name in TABLES}
    change("a.json", "a0", "a1", "a2")
    change("b.json", "b0")
    positions = {name: place.wait_for_newest(running, name, f"{name}-1") for name, running in first.items()}
    for running in first.values():
        running.signal(signal.SIGTERM)
        running.finish(60).expect(0)
    # Nobody follows meanwhile.
    change("a.json", "a0 again")
    second = {name: place.follow(name, positions[name], f"{name}-2") for name in TABLES}
    change("c.json", "c0", "c1")
    positions = {name: place.wait_for_newest(running, name, f"{name}-2") for name, running in second.items()}
    for running in second.values():
        running.kill()
    change("b.json")
    third = {name: place.follow(name, positions[name], f"{name}-3") for name in TABLES}
    change("c.json", "c0 again", "c1", "c2")
    for name, running in third.items():
        place.wait_for_newest(running, name, f"{name}-3")
        running.signal(signal.SIGINT)
        running.finish(60).expect(0)
    writer.signal(signal.SIGTERM)
    writer.finish(120).expect(0)
    for name in TABLES:
        check_reported_once(place, name)


def check_reported_once(place: Place, table: str) -> None:
    reported = [row for part in (1, 2, 3) for row in place.read_rows(f"{table}-{part}")]
    # One who has never stopped.
    whole = place.follow(table, "earliest", f"{table}-whole")
    last = reported[-1]["completed"]
    whole.wait_until(
        lambda: last in [row["completed"] for row in place.read_rows(f"{table}-whole")[-1:]], last
    )
    whole.signal(signal.SIGTERM)
    whole.finish(60).expect(0)
    assert reported == place.read_rows(f"{table}-whole")
    changes = [row for row in reported if row["op"] != "position"]
    assert len({(row["commit"], row["key"]) for row in changes}) == len(changes)
    state: dict[str, Any] = {}
    for row in changes:
        assert (row["key"] in state) == (row["op"] != "i"), row
        if row["op"] == "d":
            del state[row["key"]]
        else:
            state[row["key"]] = row["row"]["text"]
    sql = run_command("sql", f"select text from {table}", "--json", folder=place.folder).expect(0)
    assert sorted(state.values()) == sorted(json.loads(line)["text"] for line in sql.stdout.splitlines())
    assert sorted(state.values()) == ["a0 again", "c0 again", "c1", "c2"]
    assert [row["op"] for row in changes].count("d") == 3

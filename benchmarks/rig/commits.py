"""When commits completed, from the timelines of a lake in a folder."""

import threading
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.timeline import Commit


def list_commits(table: Path | str) -> list[Commit]:
    """Completed commits of a table, oldest first; none where there is no table."""
    reader = SnapshotReader(str(table))
    return reader.commit_names if reader.exists() else []


def count_commits(lake: Path) -> int:
    """Completed commits of all tables of a lake."""
    return sum(len(list_commits(folder.parent)) for folder in lake.rglob(".hoodie"))


def parse_completion(commit: Commit) -> float:
    """When a commit completed, in seconds of the wall clock; our tables' instants are UTC."""
    moment = datetime.strptime(commit.completed + "000", "%Y%m%d%H%M%S%f").replace(tzinfo=timezone.utc)
    return moment.timestamp()


class Commits:
    """Watches a table's timeline: what completed when, also of commits that are archived later."""

    def __init__(self, table: Path) -> None:
        self._table = table
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.completed: dict[str, float] = {}

    def __enter__(self) -> "Commits":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def count_rows(self) -> int:
        """Rows that can be queried now."""
        reader = SnapshotReader(str(self._table))
        return reader.count_rows() if self.completed else 0

    def read_times(self, column: str) -> dict[Any, float]:
        """When each row became queryable, by its value in the column; the last one of several."""
        self._look()
        times: dict[Any, float] = {}
        for row in SnapshotReader(str(self._table)).read(["_hoodie_commit_time", column]).to_pylist():
            completed = self.completed[row["_hoodie_commit_time"]]
            times[row[column]] = max(completed, times.get(row[column], completed))
        return times

    def _watch(self) -> None:
        while not self._stop.wait(1):
            self._look()

    def _look(self) -> None:
        for commit in list_commits(self._table):
            self.completed.setdefault(commit.requested, parse_completion(commit))

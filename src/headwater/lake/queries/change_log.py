"""Reads every change from a table's change log (CDC), commit by commit; on Spark."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pyspark.sql import Row as SparkRow
from pyspark.sql import SparkSession

from headwater.lake.jvm import explained_lake
from headwater.lake.queries.history import Step, check_change_log, plan_steps
from headwater.lake.queries.planning import load_history_for
from headwater.lake.queries.query import Query
from headwater.lake.queries.rows import Row
from headwater.lake.queries.spark import SparkFiles, read_change_log
from headwater.lake.table import Table

_OWN_PREFIX, _KEY = "_hoodie_", "_hoodie_record_key"


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A logged change; `before` and `after` are row images in Hudi's log, without Hudi's metadata columns."""

    op: Literal["i", "u", "d"]
    commit: str
    completed: str
    key: str
    before: Row | None
    after: Row | None

    @property
    def images(self) -> tuple[Row, ...]:
        """The images that exist."""
        return tuple(image for image in (self.before, self.after) if image is not None)


@dataclass(frozen=True, slots=True)
class LoggedStep:
    """The changes of one commit, read lazily."""

    step: Step
    table: Table
    record_key: Sequence[str]

    @property
    def completed(self) -> str:
        """The completion time of the commit."""
        return self.step.after.completed

    def __iter__(self) -> Iterator[LoggedChange]:
        completed = {commit.requested: commit.completed for commit in self.step.commits}
        with explained_lake(self.table.path):
            log = read_change_log(self.table, self.step.before.completed, self.step.after.completed)
            for row in log.orderBy("ts_ms").toLocalIterator():
                yield build_logged_change(row, completed, self.record_key)


class ChangeLogFeed:
    """Like `ChangeFeed`, but reads the log. Raises `InstantUnavailableError` if the log starts too late."""

    def __init__(self, spark: SparkSession, path: str, query: Query) -> None:
        self._spark = spark
        self._path = path
        self._query = query
        self.position = query.since

    def poll(self) -> Iterator[LoggedStep]:
        """See `Feed.poll`."""
        files = SparkFiles(self._spark, self._path)
        history = load_history_for(replace(self._query, since=self.position), self._path, files)
        check_change_log(history, self.position)
        for step in plan_steps(history, self.position, self._query.until, per_commit=True):
            yield LoggedStep(step, Table(self._spark, self._path), history.record_key)
            self.position = step.after.completed


def build_logged_change(
    row: SparkRow | Mapping[str, Any], completed: Mapping[str, str], record_key: Sequence[str]
) -> LoggedChange:
    """Convert a row of the log. The key comes from an image with Hudi's columns, else as Hudi builds it."""
    before, after = (None if row[name] is None else json.loads(row[name]) for name in ("before", "after"))
    key = next((image[_KEY] for image in (after, before) if image and _KEY in image), None)
    if key is None:
        image = after or before or {}
        parts = [(name, image.get(name)) for name in record_key]
        key = str(parts[0][1]) if len(parts) == 1 else ",".join(f"{name}:{value}" for name, value in parts)
    return LoggedChange(
        op=row["op"],
        commit=row["ts_ms"],
        completed=completed[row["ts_ms"]],
        key=key,
        before=_drop_own(before),
        after=_drop_own(after),
    )


def _drop_own(image: Row | None) -> Row | None:
    return image and {name: value for name, value in image.items() if not name.startswith(_OWN_PREFIX)}

"""Reads the events table of HoodieStreamer's `S3EventsSource` or `GcsEventsSource`, which stays unchanged."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.capture.row_marks import WITHIN
from headwater.errors import UsageError
from headwater.lake.jvm import explained_lake
from headwater.lake.table import Table
from headwater.lake.timeline import Commit

Provider = Literal["s3", "gcs"]

_COLUMNS: Mapping[Provider, frozenset[str]] = {
    "s3": frozenset({"s3", "eventName", "eventTime", "eventSource"}),
    "gcs": frozenset({"bucket", "name", "generation"}),
}
_KEY: Mapping[Provider, str] = {"s3": "s3.object.key", "gcs": "name"}


@dataclass(frozen=True, slots=True)
class OldRow:
    """One row: its mark (see `row_marks`), and its columns as JSON text."""

    mark: str
    text: str


class OldEvents:
    """The table at one address. Methods raise `LakeError`."""

    def __init__(self, spark: SparkSession, address: str) -> None:
        self.address = address.rstrip("/")
        self._table = Table(spark, self.address)

    @cached_property
    def provider(self) -> Provider:
        """Return whose events the table has, by its columns. Raises `UsageError` for another table."""
        known = frozenset(self._table.read().columns)
        found = next((provider for provider, columns in _COLUMNS.items() if columns <= known), None)
        if found is None:
            raise UsageError(
                f"--events {self.address}: the table has not the columns of an events table",
                hint="specify the one that the job with S3EventsSource or GcsEventsSource writes",
            )
        return found

    def check(self) -> None:
        """Raise `UsageError` if the table cannot be read now: it is another one, or its job is writing."""
        timeline = self._table.load_timeline()
        if not timeline.has_commits():
            raise UsageError(
                f"--events {self.address}: there is no Hudi table with a commit",
                hint="specify the `--target-base-path` of the job that reads the queue",
            )
        if pending := timeline.list_pending_writes():
            raise UsageError(
                f"--events {self.address}: the commit {pending[0]} is in progress",
                hint="stop the job that writes the table; if it was killed, start it once more and stop it "
                "after a commit",
            )
        _ = self.provider

    def list_commits(self) -> Sequence[Commit]:
        """Return all completed commits, archived ones, too."""
        timeline = self._table.load_timeline()
        return (*timeline.list_archived(), *timeline.commits)

    def has_rows_after(self, mark: str) -> bool:
        """True if there is a row with a later mark."""
        with explained_lake(self.address):
            return not self._select(mark).isEmpty()

    def count_rows(self, bounds: Sequence[str]) -> tuple[int, list[int]]:
        """Return the number of all rows, and of those with marks up to each bound, in one pass."""
        counts = [F.count_if(F.col("mark") <= bound) for bound in bounds]
        with explained_lake(self.address):
            total, *until = self._select("").agg(F.count("*"), *counts).collect()[0]
        return total, until

    def iter_rows(self, after: str) -> Iterator[OldRow]:
        """Yield the rows with later marks, in order."""
        with explained_lake(self.address):
            for mark, text in self._select(after).orderBy("mark", "text").toLocalIterator():
                yield OldRow(mark, text)

    def _select(self, after: str) -> DataFrame:
        rows = self._table.read()
        own = [F.col(f"`{name}`") for name in rows.columns if not name.startswith("_hoodie_")]
        key = F.coalesce(F.col(_KEY[self.provider]), F.lit(""))
        mark = F.concat(F.col("_hoodie_commit_time"), F.lit(WITHIN), key).alias("mark")
        return rows.select(mark, F.to_json(F.struct(*own)).alias("text")).where(F.col("mark") > after)


def build_message(provider: Provider, text: str) -> tuple[str, dict[str, str]]:
    """Return the notification from which the row was made, as body and attributes of a message."""
    if provider == "s3":
        return f'{{"Records": [{text}]}}', {}
    resource = json.loads(text)
    attributes = {
        "eventType": "OBJECT_FINALIZE",  # the only type that the job stores
        "payloadFormat": "JSON_API_V1",
        "bucketId": resource.get("bucket"),
        "objectId": resource.get("name"),
        "objectGeneration": resource.get("generation"),
        "eventTime": resource.get("timeCreated") or resource.get("updated"),
    }
    return text, {name: str(value) for name, value in attributes.items() if value is not None}

"""The objects and records that a table's batch must exclude to be written."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from headwater.ingest.isolation.bisection import TooManyTriesError, find_failing
from headwater.ingest.isolation.trial import Depth, Trials, choose_objects, choose_rows
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.ingest.processing.processor import BatchProcessor
from headwater.ingest.processing.record_transform import is_good
from headwater.ingest.reading.bad_records import BAD_RECORD_SCHEMA
from headwater.ingest.reading.batch_read import BatchRead
from headwater.ingest.record_source import RecordSource
from headwater.lake.local_frames import build_frame

_log = logging.getLogger(__name__)

UNWRITABLE = "unwritable"

MAX_OBJECTS = 64
"""A larger batch is halved instead of bisected, so that its good part is committed soon."""
_OBJECT_TRIES = 2 * MAX_OBJECTS
_RECORD_TRIES = 120
"""Maximum tries for the records of all objects of a batch: one with very many bad ones is excluded whole."""
_MAX_DETAIL = 400

_MARKERS = StructType(
    [
        StructField("object_index", IntegerType()),
        StructField("row_number", LongType()),
        StructField("unwritable", StringType()),
    ]
)


@dataclass(slots=True)
class _BadObject:
    """`rows` are its bad records with their reasons; without any, the whole object is bad."""

    reason: str
    rows: Mapping[int, str] = field(default_factory=dict)


class BadParts:
    """The bad parts of one batch, kept until it is committed."""

    def __init__(self, name: str, trials: Trials) -> None:
        self._name = name
        self._trials = trials
        self._found: dict[tuple[str, str], _BadObject] = {}

    def find(self, read: BatchRead, *, written: bool) -> bool:
        """Bisect a batch that failed because of its data; return whether it found a new bad part.

        `written`: the write failed. Raises errors with other causes.
        """
        ingested = [at for at, outcome in read.outcomes if outcome.status == "ingested" and outcome.rows]
        if read.records is None or not ingested:
            return False
        records = read.records.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            return self._bisect(replace(read, records=records), ingested, written=written)
        finally:
            records.unpersist()

    def _bisect(self, read: BatchRead, indexes: Sequence[int], *, written: bool) -> bool:
        depth = self._find_depth(choose_objects(read, indexes), written=written)
        if depth is None:
            _log.warning("table %s: the batch's rows alone do not cause the failure", self._name)
            return False
        _log.warning("table %s: batch failed; bisecting its %d objects", self._name, len(indexes))
        outcomes, known = dict(read.outcomes), dict(self._found)
        failing = find_failing(
            indexes, lambda some: self._trials.attempt(choose_objects(read, some), depth), _OBJECT_TRIES
        )
        tries = _RECORD_TRIES
        for at, reason in failing.items():
            rows, tries = self._find_rows(choose_objects(read, [at]), depth, tries)
            outcome = outcomes[at]
            self._found[_identify(outcome)] = _BadObject(reason, self._add_rows(outcome, rows))
            what = f"{len(rows)} records" if rows else "all records"
            _log.error(
                "table %s: cannot write %s of %s: %s", self._name, what, outcome.stored.event.key, reason
            )
        return self._found != known

    def _add_rows(self, outcome: ObjectOutcome, rows: Mapping[int, str]) -> Mapping[int, str]:
        known = self._found.get(_identify(outcome))
        return {**known.rows, **rows} if known and rows else rows

    def _find_depth(self, read: BatchRead, *, written: bool) -> Depth | None:
        """Return the smallest part of the work that fails."""
        depths = (Depth.WRITE, Depth.UPDATE) if written else (Depth.PROCESS,)
        return next((depth for depth in depths if self._trials.attempt(read, depth)), None)

    def _find_rows(self, read: BatchRead, depth: Depth, tries: int) -> tuple[Mapping[int, str], int]:
        """Return the bad records of an object, none if unknown, and the remaining number of tries."""
        assert read.records is not None  # noqa: S101 - checked by `find`
        found = read.records.where(is_good()).select("row_number").distinct().toPandas()["row_number"]
        numbers = sorted(int(number) for number in found)
        left = tries

        def attempt(some: Sequence[int]) -> str | None:
            nonlocal left
            left -= 1
            return self._trials.attempt(choose_rows(read, some[0], some[-1]), depth)

        try:
            return find_failing(numbers, attempt, tries), left
        except TooManyTriesError:
            return {}, 0

    def leave_out(self, read: BatchRead) -> BatchRead:
        """Return the batch without the bad parts: objects are quarantined, records are marked."""
        known = {at: bad for at, o in read.outcomes if (bad := self._found.get(_identify(o)))}
        if not known or read.records is None:
            return read
        outcomes = tuple((at, _leave_out(o, known[at]) if at in known else o) for at, o in read.outcomes)
        markers = [
            (at, row, reason[:_MAX_DETAIL]) for at, bad in known.items() for row, reason in bad.rows.items()
        ]
        records = _mark(read.records, markers) if markers else read.records
        return replace(read, records=records, outcomes=outcomes)

    def forget(self) -> None:
        """Forget the bad parts after the commit of the batch."""
        self._found.clear()


@dataclass(frozen=True, slots=True)
class ProcessedRecords:
    """A source of records, their processing, and the records that cannot be written."""

    source: RecordSource
    processor: BatchProcessor
    bad_parts: BadParts


def _identify(outcome: ObjectOutcome) -> tuple[str, str]:
    """Identify the content: the object under the key may differ when it is read again."""
    return (outcome.stored.event_id, outcome.version)


def _leave_out(outcome: ObjectOutcome, bad: _BadObject) -> ObjectOutcome:
    if outcome.status != "ingested":
        return outcome
    if bad.rows and len(bad.rows) < outcome.rows:
        count = len(bad.rows)
        return replace(outcome, rows=outcome.rows - count, bad_rows=outcome.bad_rows + count)
    detail = bad.reason[:_MAX_DETAIL]
    return replace(outcome, status="quarantined", reason=UNWRITABLE, detail=detail, rows=0, bad_rows=0)


def _mark(records: DataFrame, markers: Sequence[tuple[int, int, str]]) -> DataFrame:
    found = F.broadcast(build_frame(records.sparkSession, markers, _MARKERS))
    bad = F.struct(
        F.lit(UNWRITABLE).alias("reason"),
        F.to_json("record").alias("text"),
        F.col("unwritable").alias("detail"),
    ).cast(BAD_RECORD_SCHEMA)
    corrupt = F.when(F.col("unwritable").isNotNull(), bad).otherwise(F.col("corrupt"))
    joined = records.join(found, on=["object_index", "row_number"], how="left")
    return joined.withColumn("corrupt", corrupt).drop("unwritable")

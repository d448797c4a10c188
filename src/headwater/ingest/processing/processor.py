"""Processes a table's batch between reading and writing it: transform, quarantine, check."""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from py4j.protocol import Py4JError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from headwater.config.table import TableConfig
from headwater.errors import TransformError
from headwater.ingest.accounting import recount
from headwater.ingest.erasure.register import Suppressions
from headwater.ingest.formats.record_reasons import FAILED_CHECK, UNPARSABLE
from headwater.ingest.lineage import ObjectLineage, build_lineage, with_lineage
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.ingest.processing.change_processor import ChangeParts, ChangeProcessor
from headwater.ingest.processing.record_transform import RecordTransform, is_good, number_rows
from headwater.ingest.processing.suppression import RowSuppression
from headwater.ingest.reading.batch_read import BatchRead
from headwater.lake.checks.judging import CheckFailure, Checks, raise_failed
from headwater.lake.transforms.chain import Chain
from headwater.lake.transforms.protocol import TransformSecrets

_log = logging.getLogger(__name__)

_ERROR_LINE = re.compile(r"^\s*(?:Caused by: |: )?([\w.]*(?:Error|Exception)\b.*)$", re.MULTILINE)


class BatchProcessor:
    """Processes one data table; used by one thread. The constructor raises `ConfigError`."""

    def __init__(
        self,
        name: str,
        config: TableConfig,
        secrets: TransformSecrets,
        changes: ChangeParts | None = None,
        suppressions: Suppressions | None = None,
    ) -> None:
        self._name = name
        self._config = config
        self.chain = Chain(name, config.transform, secrets)
        self._checks = Checks(name, config.checks)
        self._warnings: list[str] = []
        self.records = RecordTransform(name, config, self.chain, self._checks)
        self.suppression = RowSuppression(suppressions)
        self.changes = ChangeProcessor(name, config, changes, self.records) if changes else None

    def process(self, read: BatchRead, shape: str = "") -> BatchRead:
        """Return the batch to write, with other records and outcome counts.

        A batch without a record to write is unchanged. `shape` as in `ChangeProcessor`. On an error, the
        records read are released. Raises `TransformError`, `CheckFailedError`, `ConfigError` and `LakeError`.
        """
        changes_rows = self.records.is_active or self.changes or self.suppression.is_active
        if not (changes_rows or self._checks.judges):
            return read
        columns = self._config.partition_columns
        lineages = [build_lineage(at, found, columns) for at, found in read.outcomes if found.rows]
        if read.records is None or not lineages:
            return read
        try:
            with explained_transforms(self._name, self.chain.labels):
                if self.changes:
                    read = self.changes.process(read, lineages, shape)
                elif self.records.is_active:
                    read = self._transform(read, lineages)
                read = self.suppression.apply(read)
                if self._checks.judges and read.records is not None:
                    self._judge(read.records, lineages)
        except BaseException:
            read.release()
            raise
        return read

    def take_warnings(self) -> tuple[str, ...]:
        """Return the checks that warned since the last call."""
        warnings, self._warnings = tuple(self._warnings), []
        return warnings

    def _transform(self, read: BatchRead, lineages: Sequence[ObjectLineage]) -> BatchRead:
        assert read.records is not None  # noqa: S101 - checked by `process`
        frame = self.records.apply(read.records, lineages).persist(StorageLevel.MEMORY_AND_DISK)
        frames = [frame]
        try:
            counts = _count(frame)
            self._check_origins(counts)
            if self._needs_numbers and any(row["good"] > row["places"] for row in counts.values()):
                frame = number_rows(frame).persist(StorageLevel.MEMORY_AND_DISK)
                frames.append(frame)
        except BaseException:
            for one in frames:
                one.unpersist()
            raise
        outcomes = tuple((at, _recount(found, counts.get(at))) for at, found in read.outcomes)
        return replace(read, records=frame, outcomes=outcomes, frames=(*read.frames, *frames))

    def _check_origins(self, counts: Mapping[int | None, Row]) -> None:
        if None in counts:
            raise TransformError(
                f"table {self._name}: {counts[None]['good']:,} rows of the transform belong to no record",
                hint="a right or full outer join adds rows without a record; use a left or an inner join",
            )

    @property
    def _needs_numbers(self) -> bool:
        """True if the row number in an object distinguishes rows."""
        config = self._config
        is_last_kept = config.merge_mode == "commit_time" or config.complete_when is not None
        return self.chain.may_multiply and (config.effective_mode != "merge" or is_last_kept)

    def _judge(self, records: DataFrame, lineages: Sequence[ObjectLineage]) -> None:
        rows = records.where(is_good()).select("object_index", "row_number", "record.*")
        if self.changes:
            rows = self.changes.select_last(rows)
        rows = with_lineage(rows, lineages, self._config.partition_columns)
        failures = self._checks.judge(rows, self.records.list_data_columns(rows))
        raise_failed(self._name, failures)
        for failure in failures:
            self._warn(failure)

    def _warn(self, failure: CheckFailure) -> None:
        _log.warning("table %s: %s", self._name, failure.describe())
        self._warnings.append(failure.label)


@contextmanager
def explained_transforms(table: str, labels: Sequence[str]) -> Iterator[None]:
    """Raise `TransformError` for Spark's errors in transforms; Spark does not name the transform."""
    try:
        yield
    except (Py4JError, PySparkException) as error:
        text = str(error)
        if "headwater.errors." in text:
            raise  # of reading the objects: see `explained_read`
        said = [*_ERROR_LINE.findall(text), *text.strip().splitlines()[:1], "unknown"]
        raise TransformError(
            f"table {table}: computing {', '.join(labels) or 'the checks'} failed: {said[0].strip()[:400]}",
            hint=f"`headwater transform {table} --sample FILE` shows the rows after each transform",
        ) from error


def _count(frame: DataFrame) -> Mapping[int | None, Row]:
    """Count by object: good rows, their different row numbers, bad rows, and failed checks."""
    good, bad = is_good(), F.col("corrupt").isNotNull()
    found = (
        frame.where(F.col("outcome").isNull())
        .groupBy("object_index")
        .agg(
            F.count(F.when(good, 1)).alias("good"),
            F.countDistinct(F.when(good, F.col("row_number"))).alias("places"),
            F.count(F.when(bad, 1)).alias("bad"),
            F.count(F.when(F.col("corrupt.reason") == FAILED_CHECK, 1)).alias("failed"),
            F.max("corrupt.detail").alias("detail"),
        )
    )
    return {row["object_index"]: row for row in found.collect()}


def _recount(outcome: ObjectOutcome, counts: Row | None) -> ObjectOutcome:
    """Return the outcome of an object whose records were transformed."""
    good, bad = (counts["good"], counts["bad"]) if counts else (0, 0)
    if counts and counts["failed"]:
        rejection = FAILED_CHECK, f"all of its {bad} records were rejected: one {counts['detail']}"
    else:
        detail = f"after the transform, none of its {bad} records has both a record key and valid vectors"
        rejection = UNPARSABLE, detail
    return recount(outcome, good, bad, rejection)

"""Tests whether a part of a batch can be written, without writing to its table."""

import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from enum import IntEnum
from uuid import uuid4

from pyspark.sql import functions as F

from headwater.config.table import TableConfig
from headwater.errors import HeadwaterError
from headwater.ingest.isolation.data_failure import describe_cause, is_data_failure
from headwater.ingest.processing.processor import BatchProcessor
from headwater.ingest.reading.batch_read import BatchRead
from headwater.ingest.reading.failures import explained_read
from headwater.ingest.writing.table_writer import TableWriter
from headwater.lake.failures import find_root_cause
from headwater.lake.jvm import delete_folder
from headwater.lake.table import Table

_log = logging.getLogger(__name__)


class Depth(IntEnum):
    """The part of a batch's work that a trial repeats."""

    PROCESS = 1
    WRITE = 2
    UPDATE = 3
    """Written twice: the second write updates the rows of the first."""


class Trials:
    """Trials of one table; `build_path` returns the path of a new scratch table."""

    def __init__(
        self,
        name: str,
        config: TableConfig,
        processor: BatchProcessor,
        table: Table,
        build_path: Callable[[str], str],
    ) -> None:
        self._name = name
        self._config = config
        self._processor = processor
        self._spark = table.spark
        self._build_path = build_path

    def attempt(self, read: BatchRead, depth: Depth) -> str | None:
        """Return the root cause if the data prevents the write; None if the write succeeds.

        Raises errors with other causes.
        """
        try:
            self._repeat(read, depth)
        except HeadwaterError as error:
            if not is_data_failure(error) or not isinstance(error.__cause__, Exception):
                raise
            return find_root_cause(describe_cause(error.__cause__))
        return None

    def _repeat(self, read: BatchRead, depth: Depth) -> None:
        # The frames belong to the batch, which releases them.
        processed = self._processor.process(replace(read, frames=()))
        try:
            if depth >= Depth.WRITE:
                self._write(processed, depth)
        finally:
            processed.release()

    def _write(self, read: BatchRead, depth: Depth) -> None:
        path = self._build_path(uuid4().hex)
        writer = TableWriter(self._name, self._config, Table(self._spark, path))
        try:
            with explained_read(self._name):
                writer.write(read, (), {}, is_new=True)
                if depth >= Depth.UPDATE:
                    writer.write(read, (), {}, is_new=False)
        finally:
            try:
                delete_folder(self._spark, path)
            except HeadwaterError as error:
                _log.warning("table %s: removal of scratch table %s failed: %s", self._name, path, error)


def choose_objects(read: BatchRead, indexes: Collection[int]) -> BatchRead:
    """Return the part of a batch with the objects of these `object_index`es."""
    assert read.records is not None  # noqa: S101 - only batches with records fail on them
    chosen = frozenset(indexes)
    outcomes = tuple((at, outcome) for at, outcome in read.outcomes if at in chosen)
    return replace(read, records=read.records.where(F.col("object_index").isin(*chosen)), outcomes=outcomes)


def choose_rows(read: BatchRead, first: int, last: int) -> BatchRead:
    """Return the records from `first` to `last`, by row number, of a batch of one object."""
    assert read.records is not None  # noqa: S101 - only batches with records fail on them
    is_chosen = F.col("row_number").between(first, last) | F.col("row_number").isNull()
    return replace(read, records=read.records.where(is_chosen))

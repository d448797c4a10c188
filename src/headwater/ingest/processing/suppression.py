"""Leaves rows of forgotten subjects out of a batch, after transforms and before the commit."""

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import or_

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from headwater.ingest.accounting import leave_out
from headwater.ingest.erasure.register import Suppressions
from headwater.ingest.processing.record_transform import is_good
from headwater.ingest.reading.batch_read import BatchRead
from headwater.lake.erasure.hashing import build_hash, match_any


class RowSuppression:
    """Suppresses rows of one table. A table without suppressed subjects costs one small read at the start."""

    def __init__(self, suppressions: Suppressions | None) -> None:
        self._suppressions = suppressions

    @property
    def is_active(self) -> bool:
        """True if the table has suppressed subjects. Raises `LakeError`."""
        return self._suppressions is not None and bool(self._suppressions.lists)

    def drop(self, records: DataFrame) -> DataFrame:
        """Return records without those of suppressed subjects."""
        return records.where(~self._match(records)) if self.is_active else records

    def apply(self, read: BatchRead) -> BatchRead:
        """Return the batch without rows of suppressed subjects, and with the outcomes of what is left."""
        if not self.is_active or read.records is None:
            return read
        is_own = self._match(read.records)
        good, bad = F.count(F.when(is_good(), 1)), F.count(F.when(F.col("corrupt").isNotNull(), 1))
        found = read.records.where(is_own).groupBy("object_index").agg(good.alias("good"), bad.alias("bad"))
        counts = {row["object_index"]: (row["good"], row["bad"]) for row in found.collect()}
        if not counts:
            return read
        records = read.records.where(~is_own).persist(StorageLevel.MEMORY_AND_DISK)
        outcomes = tuple((at, leave_out(one, *counts.get(at, (0, 0)))) for at, one in read.outcomes)
        return replace(read, records=records, outcomes=outcomes, frames=(*read.frames, records))

    def _match(self, records: DataFrame) -> Column:
        """True for records of suppressed subjects: bad ones, too, if they have the key."""
        schema = records.schema["record"].dataType
        assert isinstance(schema, StructType)  # noqa: S101 - as `ObjectReader` has it
        pick = _pick_field(schema)
        names = {field.name.lower() for field in schema}
        lists = self._suppressions.lists if self._suppressions else ()
        matches = (
            match_any(build_hash(hasher, pick), hashes)
            for hasher, hashes in lists
            if all(name.lower() in names for name in hasher.columns)
        )
        is_record = F.col("outcome").isNull()
        return F.coalesce(is_record & reduce(or_, matches, F.lit(False)), F.lit(False))


def _pick_field(schema: StructType) -> Callable[[str], tuple[Column, DataType]]:
    fields = {field.name.lower(): field for field in schema}

    def pick(name: str) -> tuple[Column, DataType]:
        field = fields[name.lower()]
        return F.col("record").getField(field.name), field.dataType

    return pick

"""Turns a batch's change records into rows to write and rows to delete."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructType

from headwater.config.table import TableConfig
from headwater.errors import TransformError
from headwater.ingest.accounting import recount
from headwater.ingest.changes.effects import ChangeEffects
from headwater.ingest.changes.rules import SEQUENCE, ChangeRules
from headwater.ingest.changes.tombstones import Tombstones, TombstoneState, build_key
from headwater.ingest.formats.record_reasons import DETAILS, LATE_CHANGE
from headwater.ingest.lineage import ObjectLineage
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.ingest.processing.change_marking import (
    KIND,
    POSITION,
    ROW_KEY,
    SHAPE,
    RelativeKey,
    mark_changes,
)
from headwater.ingest.processing.record_transform import RecordTransform, is_good
from headwater.ingest.reading.bad_records import build_reason
from headwater.ingest.reading.batch_read import BatchRead
from headwater.ingest.writing.record_keys import keep_last
from headwater.lake.options import DELETED
from headwater.lake.table import Table

_PLACE = ("object_index", "row_number")
_CARRIED = (KIND, POSITION, SHAPE, ROW_KEY)
_ROUNDS = 2
"""Passes over a batch: a second one if the types of its sequences differ from each other."""


@dataclass(frozen=True, slots=True)
class ChangeParts:
    """What a table of changes needs besides its records.

    `tombstones` and `table` are None for a preview, which knows no earlier batch.
    """

    rules: ChangeRules
    relative_key: RelativeKey
    tombstones: Tombstones | None = None
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class _Summary:
    """Counts of a batch by object, and of all of it."""

    objects: Mapping[int, Row] = field(default_factory=dict)

    def highest(self, name: str) -> str:
        """Return the highest text of a column; empty without any."""
        return max((row[name] for row in self.objects.values() if row[name]), default="")

    def lowest(self, name: str) -> str:
        """Return the lowest text of a column; empty without any."""
        return min((row[name] for row in self.objects.values() if row[name]), default="")

    def sum(self, name: str) -> int:
        """Return the sum of a count."""
        return sum(row[name] for row in self.objects.values())

    def merge_shapes(self, known: str) -> str:
        """Return the known types of the sequences' parts, and those of the first records if unknown."""
        shapes = [shape for row in self.objects.values() for shape in sorted(row["shapes"]) if shape]
        for shape in shapes:
            known = known.ljust(len(shape), ".")
            pairs = zip(known, shape.ljust(len(known), "."), strict=True)
            known = "".join(new if old == "." else old for old, new in pairs)
        return known


class ChangeProcessor:
    """Processes the batches of one table of changes. Used by one thread."""

    def __init__(self, name: str, config: TableConfig, parts: ChangeParts, records: RecordTransform) -> None:
        self._name = name
        self._config = config
        self._parts = parts
        self._records = records

    @property
    def tombstones(self) -> Tombstones | None:
        """The deletes of the table; None for a preview."""
        return self._parts.tombstones

    def process(self, read: BatchRead, lineages: Sequence[ObjectLineage], shape: str) -> BatchRead:
        """Return the batch with the rows to write: those to delete are marked by `DELETED`.

        `shape` are the types of the parts of earlier sequences. Raises `TransformError`, `ConfigError` and
        `LakeError`.
        """
        frames: list[DataFrame] = []
        try:
            frame, summary, shape = self._mark(read, lineages, shape, frames)
            self._check_transform(summary)
            frame, summary, effects = self._settle(frame, summary, frames)
            frame = _mark_deletes(frame).drop(*_CARRIED)
        except BaseException:
            for one in frames:
                one.unpersist()
            raise
        outcomes = tuple((at, _recount(found, summary.objects.get(at))) for at, found in read.outcomes)
        return replace(
            read,
            records=frame,
            outcomes=outcomes,
            frames=(*read.frames, *frames),
            effects=replace(effects, shape=shape),
        )

    def select_last(self, rows: DataFrame) -> DataFrame:
        """Return the rows as the batch leaves them: of each key the last one, unless that is a delete."""
        rows = keep_last(rows, self._config.record_key, (SEQUENCE,))
        return rows.where(F.col(DELETED).isNull()).drop(DELETED, SEQUENCE)

    def replay(
        self,
        read: BatchRead,
        lineages: Sequence[ObjectLineage],
        shape: str,
        frames: list[DataFrame],
        suppress: Callable[[DataFrame], DataFrame],
    ) -> tuple[DataFrame, Mapping[int, int]]:
        """Return the rows that objects insert or update, and how many of their changes the table lacks.

        The objects were ingested before; nothing is written. A change is in the table if its row, a delete or
        a truncate has the same position or a later one. `frames` are to be freed. `suppress` drops records of
        forgotten subjects. Raises `LakeError`.
        """
        frame, _, _ = self._mark(read, lineages, shape, frames)
        frame = suppress(frame)
        rows = frame.where(~F.coalesce(is_good(), F.lit(False)) | (F.col(KIND) == "upsert"))
        return rows.drop(*_CARRIED), self._count_unapplied(frame)

    def _count_unapplied(self, frame: DataFrame) -> Mapping[int, int]:
        parts = self._parts
        if parts.table is None or parts.tombstones is None or not parts.table.load_timeline().has_commits():
            return {}
        # In this order: the deletes of a batch are written before its rows.
        rows = parts.table.read().select(
            build_key(self._config.record_key).alias(ROW_KEY), F.col(SEQUENCE).alias("row_position")
        )
        parts.tombstones.forget()
        state = parts.tombstones.state
        deletes = parts.tombstones.read().select(
            F.col("key").alias(ROW_KEY), F.col("sequence").alias("delete_position")
        )
        changes = frame.where(is_good() & F.col(KIND).isin("upsert", "delete"))
        changes = changes.where(F.col(POSITION) > max(state.truncated, state.purged))
        found = changes.join(rows, on=ROW_KEY, how="left").join(deletes, on=ROW_KEY, how="left")
        newest = F.greatest(F.coalesce("row_position", F.lit("")), F.coalesce("delete_position", F.lit("")))
        is_contradicted = (F.col(KIND) == "delete") & (F.col("row_position") < F.col(POSITION))
        lacking = found.where((newest < F.col(POSITION)) | F.coalesce(is_contradicted, F.lit(False)))
        counted = lacking.groupBy("object_index").count().collect()
        return {row["object_index"]: row["count"] for row in counted}

    def select_rows(self, records: DataFrame, outcomes: Sequence[tuple[int, ObjectOutcome]]) -> DataFrame:
        """Return the records that insert or update a row, as the input of the first transform."""
        marked = mark_changes(self._parts.rules, records, outcomes, self._parts.relative_key, "")
        return marked.where(is_good() & (F.col(KIND) == "upsert")).drop(*_CARRIED)

    def _mark(
        self, read: BatchRead, lineages: Sequence[ObjectLineage], shape: str, frames: list[DataFrame]
    ) -> tuple[DataFrame, _Summary, str]:
        """Return the marked and transformed records, which `frames` persist, their counts and the shape."""
        assert read.records is not None  # noqa: S101 - only batches with records are processed
        for rounds_left in reversed(range(_ROUNDS)):
            marked = mark_changes(
                self._parts.rules, read.records, read.outcomes, self._parts.relative_key, shape
            )
            frame = self._transform(marked, lineages, frames) if self._records.is_active else marked
            if self._records.is_active:
                frames.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
            summary = _summarize(frame, self._config.record_key)
            merged = summary.merge_shapes(shape)
            if not rounds_left or not _is_mixed(summary, merged):
                break
            shape = merged
        return frame, summary, merged

    def _transform(
        self, marked: DataFrame, lineages: Sequence[ObjectLineage], frames: list[DataFrame]
    ) -> DataFrame:
        """Transform inserted and updated rows. A change whose row a transform leaves out deletes its row."""
        is_upsert = is_good() & (F.col(KIND) == "upsert")
        upserts = marked.where(is_upsert)
        after = self._records.apply(upserts, lineages, _CARRIED).persist(StorageLevel.MEMORY_AND_DISK)
        frames.append(after)
        schema = after.schema["record"].dataType
        assert isinstance(schema, StructType)  # noqa: S101 - as `RecordTransform` builds it
        left_out = upserts.join(after.select(*_PLACE), on=list(_PLACE), how="left_anti")
        rest = marked.where(~F.coalesce(is_upsert, F.lit(False)))
        deletes = left_out.withColumn(KIND, F.lit("delete")).unionByName(rest)
        key = {name.lower() for name in self._config.record_key}
        record = F.struct(
            *(
                (F.col("record").getField(field.name) if field.name.lower() in key else F.lit(None))
                .cast(field.dataType)
                .alias(field.name)
                for field in schema
            )
        )
        return after.unionByName(deletes.withColumn("record", record).select(*after.columns))

    def _check_transform(self, summary: _Summary) -> None:
        if summary.sum("moved"):
            raise TransformError(
                f"table {self._name}: a transform changes the record key of {summary.sum('moved'):,} rows",
                hint="with `changes`, keep the columns of `record_key` as they are in the records: a delete "
                "has nothing else",
            )
        if summary.sum("upserts") > summary.sum("upsert_places"):
            raise TransformError(
                f"table {self._name}: a transform makes several rows of one change record",
                hint="with `changes`, a record is one row; to split rows, add a table built `from` this one",
            )

    def _settle(
        self, frame: DataFrame, summary: _Summary, frames: list[DataFrame]
    ) -> tuple[DataFrame, _Summary, ChangeEffects]:
        """Leave out what an earlier batch already made obsolete, and return what this one adds to that."""
        state = self._parts.tombstones.state if self._parts.tombstones else TombstoneState()
        truncated = max(state.truncated, summary.highest("truncated"))
        is_change = F.coalesce(is_good(), F.lit(False))
        if truncated:
            frame = frame.where(~is_change | (F.col(POSITION) > truncated))
        frame = frame.where(~is_change | (F.col(KIND) != "truncate"))
        first = summary.lowest("first_upsert")
        if self._parts.tombstones and first and first < state.newest:
            frame = self._leave_out_deleted(frame, state, frames)
            if first <= state.purged:
                frame = self._reject_unknown(frame, state.purged)
                frames.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
                summary = _summarize(frame, self._config.record_key)
        deletes = None
        if summary.sum("deletes"):
            of_rows = frame.where(is_change & (F.col(KIND) == "delete")).groupBy(F.col(ROW_KEY).alias("key"))
            deletes = of_rows.agg(F.max(POSITION).alias("sequence"))
        effects = ChangeEffects(deletes, summary.highest("last_delete"), summary.highest("truncated"))
        return frame, summary, effects

    def _leave_out_deleted(
        self, frame: DataFrame, state: TombstoneState, frames: list[DataFrame]
    ) -> DataFrame:
        """Leave out changes of rows that were deleted later, and reject those for which this is unknown."""
        assert self._parts.tombstones is not None  # noqa: S101 - checked by the caller
        is_upsert = is_good() & (F.col(KIND) == "upsert")
        late = frame.where(is_upsert & (F.col(POSITION) < state.newest))
        late = late.select(*_PLACE, F.col(ROW_KEY).alias("key"), F.col(POSITION).alias("sequence"))
        obsolete = self._parts.tombstones.find_superseded(late).select(*_PLACE).distinct()
        obsolete = obsolete.withColumn("is_obsolete", F.lit(True)).persist(StorageLevel.MEMORY_AND_DISK)
        frames.append(obsolete)
        frame = frame.join(obsolete, on=list(_PLACE), how="left")
        return frame.where(~F.coalesce(F.col("is_obsolete") & is_upsert, F.lit(False))).drop("is_obsolete")

    def _reject_unknown(self, frame: DataFrame, purged: str) -> DataFrame:
        """Reject changes that are older than forgotten deletes, and whose row does not exist."""
        assert self._parts.table is not None  # noqa: S101 - there are tombstones, so there is a table
        is_old = is_good() & (F.col(KIND) == "upsert") & (F.col(POSITION) <= purged)
        old = frame.where(is_old).select(ROW_KEY).distinct()
        if not self._parts.table.load_timeline().has_commits():
            present = old.limit(0)
        else:
            stored = self._parts.table.read().select(build_key(self._config.record_key).alias(ROW_KEY))
            present = stored.join(F.broadcast(old), on=ROW_KEY, how="left_semi").distinct()
        frame = frame.join(present.withColumn("is_present", F.lit(True)), on=ROW_KEY, how="left")
        reason = F.when(is_old & F.col("is_present").isNull(), LATE_CHANGE)
        corrupt = F.coalesce(F.col("corrupt"), build_reason(reason, F.to_json("record")))
        return frame.withColumn("corrupt", corrupt).drop("is_present")


def _summarize(frame: DataFrame, record_key: tuple[str, ...]) -> _Summary:
    good, bad = is_good(), F.col("corrupt").isNotNull()
    is_upsert, is_delete, is_truncate = (
        good & (F.col(KIND) == kind) for kind in ("upsert", "delete", "truncate")
    )
    is_moved = is_upsert & (build_key(record_key, F.col("record")) != F.col(ROW_KEY))
    found = (
        frame.where(F.col("outcome").isNull())
        .groupBy("object_index")
        .agg(
            F.count(F.when(good, 1)).alias("good"),
            F.count(F.when(bad, 1)).alias("bad"),
            F.max("corrupt.reason").alias("reason"),
            F.max("corrupt.detail").alias("detail"),
            F.count(F.when(is_upsert, 1)).alias("upserts"),
            F.countDistinct(F.when(is_upsert, F.col("row_number"))).alias("upsert_places"),
            F.count(F.when(is_moved, 1)).alias("moved"),
            F.count(F.when(is_delete, 1)).alias("deletes"),
            F.min(F.when(is_upsert, F.col(POSITION))).alias("first_upsert"),
            F.max(F.when(is_delete, F.col(POSITION))).alias("last_delete"),
            F.max(F.when(is_truncate, F.col(POSITION))).alias("truncated"),
            F.collect_set(F.when(good, F.col(SHAPE))).alias("shapes"),
        )
    )
    return _Summary({row["object_index"]: row for row in found.collect()})


def _mark_deletes(frame: DataFrame) -> DataFrame:
    is_deleted = F.when(F.col(KIND) == "delete", F.lit(True)).cast(BooleanType())
    record = F.col("record").withField(SEQUENCE, F.col(POSITION)).withField(DELETED, is_deleted)
    return frame.withColumn("record", F.when(is_good(), record))


def _is_mixed(summary: _Summary, merged: str) -> bool:
    """True if a record has other types in its sequence than the merged ones."""
    shapes = {shape for row in summary.objects.values() for shape in row["shapes"]}
    return any(own not in (".", known) for shape in shapes for own, known in zip(shape, merged, strict=False))


def _recount(outcome: ObjectOutcome, counts: Row | None) -> ObjectOutcome:
    """Return the outcome of an object whose changes were processed."""
    if counts is None:
        return recount(outcome, 0, 0, ("", ""))
    reason, bad = counts["reason"] or "", counts["bad"]
    what = counts["detail"] or DETAILS.get(reason, reason)
    return recount(
        outcome, counts["good"], bad, (reason, f"all of its {bad} records were rejected: one {what}")
    )

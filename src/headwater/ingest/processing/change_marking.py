"""Marks a batch's change records: what each does to which row, its position, and why it cannot be applied."""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from headwater.ingest.changes.rules import ChangeRules
from headwater.ingest.changes.sequence_columns import (
    build_position,
    build_sequence,
    build_shape,
    has_control_character,
)
from headwater.ingest.changes.tombstones import build_key
from headwater.ingest.formats.envelopes import CHANGE, ENVELOPE_FIELDS, SEQUENCE_TEXT
from headwater.ingest.formats.envelopes.envelope import FAULT
from headwater.ingest.formats.record_reasons import (
    BAD_SEQUENCE,
    MISSING_KEY,
    MISSING_ORDERING,
    UNKNOWN_CHANGE,
)
from headwater.ingest.lineage import with_object_values
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.ingest.processing.record_transform import is_good
from headwater.ingest.reading.bad_records import build_reason
from headwater.sources.object_event import ObjectEvent

KIND = "kind"
POSITION = "sequence"
SHAPE = "shape"
ROW_KEY = "row_key"

_OBJECT_VALUES = StructType(
    [
        StructField("object_key", StringType()),
        StructField("object_micros", LongType()),
        StructField("object_is_snapshot", BooleanType()),
    ]
)


RelativeKey = Callable[[str, str], str | None]
"""Bucket and key of an object -> its key below the prefix of its source, None for another one."""


def mark_changes(
    rules: ChangeRules,
    records: DataFrame,
    outcomes: Sequence[tuple[int, ObjectOutcome]],
    relative_key: RelativeKey,
    shape: str,
) -> DataFrame:
    """Return records of the table's columns with `KIND`, `POSITION`, `SHAPE` and `ROW_KEY`, null if bad.

    `shape` is the known one of sequences. Raises `ConfigError` for wrong
    names in the section.
    """
    schema = records.schema["record"].dataType
    assert isinstance(schema, StructType)  # noqa: S101 - as `ObjectReader` has it
    rules.check_columns(schema)
    values = {
        at: (
            found.stored.event.key,
            int(found.stored.event.event_time.timestamp() * 1_000_000),
            rules.is_snapshot(_find_relative(found.stored.event, relative_key)),
        )
        for at, found in outcomes
        if found.rows
    }
    good = with_object_values(records.where(is_good()), values, _OBJECT_VALUES)
    marking = _Marking(rules, schema, shape)
    good = marking.mark(_add_old_keys(rules, good, schema))
    names = [name for name in schema.fieldNames() if not rules.is_own(name)]
    record = F.struct(*(F.col("record").getField(name).alias(name) for name in names))
    marks = (KIND, POSITION, SHAPE, ROW_KEY)
    key = build_key(rules.record_key, F.col("record"))
    good = good.withColumn(ROW_KEY, key).withColumn("record", record).select(*records.columns, *marks)
    nothing = F.lit(None).cast("string")
    bad = records.where(~is_good()).withColumn("record", F.lit(None).cast(good.schema["record"].dataType))
    return good.unionByName(bad.select(*records.columns, *(nothing.alias(name) for name in marks)))


class _Marking:
    """Builds the columns of marked records from those of the records, and of their objects."""

    def __init__(self, rules: ChangeRules, schema: StructType, shape: str) -> None:
        self._rules = rules
        self._schema = schema
        self._shape = shape

    def mark(self, good: DataFrame) -> DataFrame:
        """Add the columns, and mark what cannot be applied as bad."""
        good = good.withColumn("given", self._build_kind()).withColumn("order", self._build_order())
        good = good.withColumn(SHAPE, build_shape(F.col("order")))
        good = good.withColumn("fault", self._build_fault())
        is_snapshot = F.col("object_is_snapshot") | (F.col("given") == "snapshot")
        rank = F.when(is_snapshot, "0").otherwise("1")
        position = build_position(
            rank, F.col("order"), F.col("object_key"), F.col("object_micros"), F.col("row_number")
        )
        applied = F.col("fault").isNull()
        kind = F.when(F.col("given") == "snapshot", "upsert").otherwise(F.col("given"))
        good = good.withColumn(KIND, F.when(applied, kind)).withColumn(POSITION, F.when(applied, position))
        corrupt = F.coalesce(F.col("corrupt"), build_reason(F.col("fault"), self._build_text()))
        # What changes no row is no record.
        return good.withColumn("corrupt", corrupt).where(F.col("given") != "ignore")

    def _build_text(self) -> Column:
        """Return a record's text for the quarantine; of an envelope, the row is left."""
        if self._rules.envelope is None:
            return F.to_json("record")
        return F.to_json(F.col("record").dropFields(*ENVELOPE_FIELDS))

    def _build_kind(self) -> Column:
        if self._rules.envelope is not None:
            return F.col("record").getField(CHANGE)
        op = self._rules.config.op or ""
        unknown = F.lit(FAULT + UNKNOWN_CHANGE)
        absent = F.when(F.col("object_is_snapshot"), F.lit("snapshot")).otherwise(unknown)
        if op not in self._schema.fieldNames():
            return absent
        given = F.col("record").getField(op).cast("string")
        found = F.when(given.isNull(), absent)
        for operation, kind in self._rules.kinds.items():
            found = found.when(given == operation, kind)
        return found.otherwise(unknown)

    def _build_order(self) -> Column:
        if self._rules.envelope is not None:
            return F.coalesce(F.col("record").getField(SEQUENCE_TEXT), F.lit(""))
        return build_sequence(F.col("record"), self._schema, self._rules.config.sequence)

    def _build_fault(self) -> Column:
        """Return the reason to reject a record; null without one."""
        record, kind = F.col("record"), F.col("given")
        keys = [record.getField(name).cast("string") for name in self._rules.record_key]
        is_keyless = reduce(or_, (key.isNull() for key in keys))
        fault = F.when(kind.startswith(FAULT), F.substring(kind, len(FAULT) + 1, 100))
        fault = fault.when((kind != "truncate") & is_keyless, MISSING_KEY)
        if self._rules.config.sequence:
            is_older = F.col("object_is_snapshot") | (kind == "snapshot")
            fault = fault.when(~is_older & (F.col("order") == ""), MISSING_ORDERING)
        return fault.when(self._is_unordered(), BAD_SEQUENCE)

    def _is_unordered(self) -> Column:
        """True if a text cannot be ordered, or if the types differ from those of other records."""
        names = self._rules.config.sequence
        if self._rules.envelope is None:
            return has_control_character(F.col("record"), self._schema, names)
        parts = [F.substring(F.col(SHAPE), at, 1) for at in range(1, len(self._shape) + 1)]
        differs = [
            ~part.isin("", ".", known) for part, known in zip(parts, self._shape, strict=True) if known != "."
        ]
        return reduce(or_, differs, F.lit(False))


def _find_relative(event: ObjectEvent, relative_key: RelativeKey) -> str:
    # A preview may have a file of no source.
    relative = relative_key(event.bucket, event.key)
    return event.key if relative is None else relative


def _add_old_keys(rules: ChangeRules, good: DataFrame, schema: StructType) -> DataFrame:
    """Add a delete of the old row for each update that changes its key, by columns with values before it."""
    prefix, op = rules.config.before_prefix, rules.config.op or ""
    old_names = {name: f"{prefix}{name}" for name in rules.record_key}
    present = {name: old for name, old in old_names.items() if old in schema.fieldNames()}
    if not prefix or not present or op not in schema.fieldNames():
        return good
    record = F.col("record")
    pairs = [(record.getField(name), record.getField(old)) for name, old in present.items()]
    is_moved = reduce(or_, (old.isNotNull() & ~old.eqNullSafe(new) for new, old in pairs))
    is_moved = is_moved & record.getField(op).isin(*rules.config.update)
    deleted = record.withField(op, F.lit(rules.config.delete[0]))
    for (name, _), (new, old) in zip(present.items(), pairs, strict=True):
        deleted = deleted.withField(name, F.coalesce(old, new))
    return good.unionByName(good.where(is_moved).withColumn("record", deleted))

"""Determines which records cannot become rows, and why."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, IntegerType, StringType, StructField, StructType, TimestampType

from headwater.capture.quarantine_item import MAX_PAYLOAD_CHARS
from headwater.capture.quarantine_table import QUARANTINE_SCHEMA
from headwater.config.hudi.column_types import ColumnType
from headwater.ingest.columns.row_address import RowAddress
from headwater.ingest.formats import markers
from headwater.ingest.formats.record_reasons import (
    BAD_VECTOR,
    DETAILS,
    FAILED_CHECK,
    MALFORMED_DETAIL,
    MISSING_KEY,
    MISSING_ORDERING,
    OUT_OF_RANGE,
    UNPARSABLE,
)
from headwater.ingest.misfits.finder import MisfitFinder
from headwater.ingest.parsing.epochs import EARLIEST, LATEST
from headwater.ingest.parsing.leaves import has_leaf
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.lake.local_frames import build_frame
from headwater.lake.logical_types.columns import find_declared, find_fault

_DAYS = tuple(micros // (24 * 60 * 60 * 1_000_000) for micros in (EARLIEST, LATEST))

BAD_RECORD_SCHEMA = StructType(
    [
        StructField("reason", StringType()),
        StructField("text", StringType()),
        StructField("detail", StringType()),
    ]
)

_OBJECT_SCHEMA = StructType(
    [
        StructField("object_index", IntegerType()),
        *(StructField(name, StringType()) for name in ("bucket", "key", "version", "event_id")),
    ]
)


def build_bad_record(
    schema: StructType,
    address: RowAddress,
    types: Mapping[str, ColumnType],
) -> Column:
    """Convert `corrupt`, the text of a record that does not fit, to a struct of reason, text and detail.

    Records without a key or an ordering value, or with a vector that does not fit `types`, are bad, too: Hudi
    fails the whole commit because of one. Fields outside `columns` have another origin and are never missing.
    """
    columns, record, record_key = schema.fieldNames(), F.col("record"), address.record_key
    is_record = F.col("outcome").isNull()
    is_outside = is_record & (
        has_leaf(
            record, schema, (TimestampType,), lambda leaf: ~F.unix_micros(leaf).between(EARLIEST, LATEST)
        )
        # As a timestamp, a date may exceed the range of a long.
        | has_leaf(record, schema, (DateType,), lambda leaf: ~F.unix_date(leaf).between(*_DAYS))
    )
    bad = F.coalesce(
        _build_corrupt(F.col("corrupt")), F.when(is_outside, _build(OUT_OF_RANGE, F.to_json(record)))
    )
    if record_key and set(record_key) <= set(columns):
        filled = [F.coalesce(record.getField(name).cast("string"), F.lit("")) for name in record_key]
        bad = F.coalesce(
            bad, F.when(is_record & (F.concat(*filled) == ""), _build(MISSING_KEY, F.to_json(record)))
        )
    missing = [(MISSING_ORDERING, record.getField(n).isNull()) for n in set(address.ordering) & set(columns)]
    for reason, is_fault in (*missing, *address.iter_faults(record, schema)):
        bad = F.coalesce(bad, F.when(is_record & is_fault, _build(reason, F.to_json(record))))
    for name in columns:
        if (kind := find_declared(types, name)) is not None:
            fault = find_fault(record.getField(name), name, kind)
            is_bad = is_record & fault.isNotNull()
            bad = F.coalesce(bad, F.when(is_bad, _struct(BAD_VECTOR, F.to_json(record), fault)))
    return bad.cast(BAD_RECORD_SCHEMA)


def _build_corrupt(text: Column) -> Column:
    unmarked, found = F.substr(text, F.lit(len(markers.MALFORMED) + 1)), _build(UNPARSABLE, text)
    for marker, reason in markers.REASONS.items():
        detail = MALFORMED_DETAIL if marker == markers.MALFORMED else None
        found = F.when(text.startswith(marker), _build(reason, unmarked, detail)).otherwise(found)
    return found


def _build(reason: str, text: Column, detail: str | None = None) -> Column:
    return F.when(text.isNotNull(), _struct(reason, text, F.lit(detail).cast("string")))


def build_reason(reason: Column, text: Column) -> Column:
    """Build a bad record with that reason; null if the reason is."""
    nothing = F.lit(None).cast("string")
    found = F.struct(reason.alias("reason"), text.alias("text"), nothing.alias("detail"))
    return F.when(reason.isNotNull(), found).cast(BAD_RECORD_SCHEMA)


def build_failed_check(detail: Column) -> Column:
    """Build a bad record if `detail` names a failed check; null if that is null."""
    return F.when(detail.isNotNull(), _struct(FAILED_CHECK, F.to_json("record"), detail))


def _struct(reason: str, text: Column, detail: Column) -> Column:
    return F.struct(F.lit(reason).alias("reason"), text.alias("text"), detail.alias("detail"))


def quarantine_frame(
    records: DataFrame,
    table: str,
    outcomes: Sequence[tuple[int, ObjectOutcome]],
    now: datetime,
    misfits: MisfitFinder,
) -> DataFrame | None:
    """Build rows for the bad records of objects that also have good ones; None if there are none.

    `records` has `object_index`, `row_number` and `corrupt`. `misfits` finds what is wrong with them.
    """
    affected = [
        (at, outcome) for at, outcome in outcomes if outcome.status == "ingested" and outcome.bad_rows
    ]
    if not affected:
        return None
    objects = build_frame(
        records.sparkSession,
        [(at, o.stored.event.bucket, o.stored.event.key, o.version, o.stored.event_id) for at, o in affected],
        _OBJECT_SCHEMA,
    )
    bad = records.where(F.col("corrupt").isNotNull()).join(
        F.broadcast(objects), on="object_index", how="inner"
    )
    line = F.col("row_number").cast("string")
    filled = {
        "quarantine_id": _quarantine_id("record", "ingest", table, F.col("event_id"), line),
        "level": F.lit("record"),
        "stage": F.lit("ingest"),
        "reason": F.col("corrupt.reason"),
        "detail": F.concat_ws(" ", F.lit("line"), line, _explain(F.col("corrupt"), misfits)),
        "quarantined_at": F.lit(now).cast("timestamp"),
        "table": F.lit(table),
        "line": F.col("row_number"),
        "payload": F.substring("corrupt.text", 1, MAX_PAYLOAD_CHARS),
    }
    kept = {"bucket", "key", "version", "event_id"}
    return bad.select(
        *(
            filled.get(f.name, F.col(f.name) if f.name in kept else F.lit(None))
            .cast(f.dataType)
            .alias(f.name)
            for f in QUARANTINE_SCHEMA
        )
    )


def _explain(corrupt: Column, misfits: MisfitFinder) -> Column:
    @F.udf(StringType())
    def name_misfit(object_index: int, reason: str, text: str | None) -> str | None:
        found = misfits.find(object_index, text) if reason == UNPARSABLE and text else None
        return found.describe() if found else None

    reason, text, detail = (corrupt.getField(name) for name in ("reason", "text", "detail"))
    general = detail
    for name, sentence in DETAILS.items():
        general = F.when(reason == name, sentence).otherwise(general)
    # The records between the brackets have become rows: each is on a line of its own.
    is_bracket = F.trim(text).isin("[", "]")
    bracket = F.when(is_bracket, "is a bracket of a JSON array: set `format: json_array`")
    fault = F.coalesce(detail, name_misfit(F.col("object_index"), reason, text))
    named = F.when((reason == UNPARSABLE) & fault.isNotNull(), F.concat_ws(": ", general, fault))
    return F.coalesce(bracket, named, general)


def _quarantine_id(level: str, stage: str, table: str, event_id: Column, line: Column) -> Column:
    """Build the same text as `QuarantineItem.quarantine_id`."""
    parts = [F.lit(level), F.lit(stage), F.lit(table), event_id, F.lit("None"), line]
    pieces = [F.concat(F.length(part).cast("string"), F.lit(":"), part) for part in parts]
    return F.substring(F.sha2(F.concat(*pieces), 256), 1, 20)

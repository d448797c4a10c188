"""Rows of this process, as Spark sees them."""

from datetime import date, datetime, timezone

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    BooleanType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from headwater.app import App
from headwater.config.settings import Settings
from headwater.lake.local_frames import build_frame

SCHEMA = (
    StructType()
    .add("word", StringType())
    .add("count", LongType())
    .add("place", IntegerType())
    .add("share", DoubleType())
    .add("is_new", BooleanType())
    .add("day", DateType())
    .add("at", TimestampType())
)
AT = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=timezone.utc)
AT_TEXT = "2026-03-29 01:30:00.123456"


def test_values_come_as_they_are(spark):
    rows = [
        ("ä\n\0", 2**62 + 1, -1, 0.1, True, date(1, 1, 1), AT),
        ("", 0, 2**31 - 1, float("inf"), False, date(9999, 12, 31), AT),
        (None,) * 7,
    ]
    frame = build_frame(spark, rows, SCHEMA)
    assert frame.schema == SCHEMA
    # As text: PySpark would hand out the driver's local time.
    reported = frame.withColumn("at", frame["at"].cast("string")).collect()
    assert [tuple(row) for row in reported] == [
        (*row[:6], row[6] and "2026-03-29 01:30:00.123456") for row in rows
    ]


def test_no_rows_are_an_empty_frame(spark):
    frame = build_frame(spark, [], SCHEMA)
    assert (frame.schema, frame.count()) == (SCHEMA, 0)


def test_no_python_worker_is_woken(spark):
    lineage = build_frame(spark, [("a", 1, 1, 0.5, None, None, None)], SCHEMA)._jdf.rdd().toDebugString()
    assert "PythonRDD" not in lineage
    assert "PythonRDD" in spark.createDataFrame([("a",)], "word string")._jdf.rdd().toDebugString()


def test_value_of_another_type_is_refused(spark):
    with pytest.raises((pa.ArrowInvalid, pa.ArrowTypeError)):
        build_frame(spark, [("a", "many", 1, 0.5, None, None, None)], SCHEMA)


def test_row_of_another_length_is_refused(spark):
    with pytest.raises(ValueError, match="longer"):
        build_frame(spark, [("a",), ("b", 2)], SCHEMA)


def test_external_session_accepts_rows_with_nulls(spark, tmp_path):
    theirs = spark.newSession()
    theirs.conf.set("spark.sql.execution.arrow.pyspark.enabled", "false")
    lake = {
        "lake": str(tmp_path / "lake"),
        "source": {"type": "local", "path": str(tmp_path / "in")},
        "tables": {"t": {"path": "*.json"}},
    }
    app = App(Settings.model_validate(lake), spark=theirs)
    rows = build_frame(app.spark, [("a", None, 1, None, None, None, AT)], SCHEMA).collect()
    assert (rows[0]["count"], rows[0]["place"], rows[0]["is_new"]) == (None, 1, None)

"""Columns inferred from sample lines are those of Spark's own readers."""

import pytest
from pyspark.sql import SparkSession

from headwater.ingest.columns.schema import infer_from_lines

JSON_LINES = [
    '{"id": 1, "at": "2026-01-01T10:00:00Z", "nested": {"z": null, "a": [1, 2.5]}}',
    '{"id": 3000000000, "ü": "\\u00fc\u4ef7", "nested": {"b": true}}',
    '{"id": "text"}',
]
CSV_LINES = ['1,1.5,2026-01-01 10:00:00,"a, ""b"""', '3000000000,2,2026-01-02,"c\nd"', ",,,"]


@pytest.mark.parametrize(("file_format", "lines"), [("json", JSON_LINES), ("csv", CSV_LINES)])
def test_types_are_those_that_spark_infers_from_the_same_lines(
    spark: SparkSession, file_format: str, lines: list[str]
) -> None:
    texts = spark.sparkContext.parallelize(lines, 1)
    reader = spark.read.option("inferSchema", "true").option("escape", '"')
    # PySpark declares paths only, and reads RDDs of lines, too.
    expected = reader.json(texts) if file_format == "json" else reader.csv(texts)  # type: ignore[arg-type]
    names = tuple(f"_c{index}" for index in range(4)) if file_format == "csv" else None
    found = infer_from_lines(spark, file_format, names, lines, {})
    assert found is not None
    assert [(field.name, field.dataType) for field in found] == [
        (field.name, field.dataType) for field in expected.schema if field.name != "_corrupt_record"
    ]


def test_half_of_a_surrogate_pair_in_a_line_does_not_end_the_inference(spark: SparkSession) -> None:
    found = infer_from_lines(spark, "json", None, ['{"id": 1, "text": "a\ud83d"}'], {})
    assert found is not None
    assert found.fieldNames() == ["id", "text"]


def test_lines_without_a_record_have_no_columns(spark: SparkSession) -> None:
    assert infer_from_lines(spark, "json", None, ["no json"], {}) is None

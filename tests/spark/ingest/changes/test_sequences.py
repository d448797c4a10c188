"""Sequences of typed columns are the texts that unwrapped envelopes have."""

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headwater.ingest.changes.sequence_columns import build_sequence, build_shape, has_control_character
from headwater.ingest.formats.envelopes.sequence import join_sequence

TIME = datetime(2026, 5, 1, 12, 30, 0, 123456, tzinfo=timezone.utc)
VALUES: list[tuple[str, Any]] = [
    ("bigint", 0),
    ("bigint", 2**63 - 1),
    ("bigint", -(2**63)),
    ("int", -5),
    ("decimal(38,0)", Decimal(10**36)),
    ("decimal(38,0)", Decimal(-(10**36))),
    ("decimal(20,4)", Decimal("-12.3400")),
    ("decimal(20,4)", Decimal("7.0000")),
    ("double", 1.5),
    ("double", -0.25),
    ("double", 3.0),
    ("timestamp", TIME),
    ("date", date(1969, 12, 31)),
    ("string", "mysql-bin.000003"),
    ("string", ""),
    ("string", "größe 𝄞"),
]


def test_both_build_the_same_text(spark: SparkSession) -> None:
    columns = "".join(f"v{at} {kind}, " for at, (kind, _) in enumerate(VALUES))
    values = [value for _, value in VALUES]
    frame = spark.createDataFrame([(*values, None, 4)], f"{columns}none bigint, w int")
    texts = [
        build_sequence(F.struct("*"), frame.schema, (f"v{at}", "absent", "none", "w"))
        for at in range(len(VALUES))
    ]
    found = frame.select(*(text.alias(f"text{at}") for at, text in enumerate(texts))).first()
    assert found is not None
    assert list(found) == [join_sequence([value, None, None, 4]) for value in values]


def test_shapes_and_characters(spark: SparkSession) -> None:
    texts = ["", join_sequence([1, "a", None, 2.5]), join_sequence([None, 1]), join_sequence(["a"])]
    frame = spark.createDataFrame([(text,) for text in texts], "text string")
    assert [row[0] for row in frame.select(build_shape(F.col("text"))).collect()] == [".", "nt.n", ".n", "t"]
    frame = spark.createDataFrame([("a\tb", 1), ("a b", 1), (None, 1)], "a string, n bigint")
    bad = has_control_character(F.struct("*"), frame.schema, ("a", "n"))
    assert [row[0] for row in frame.select(bad).collect()] == [True, False, False]

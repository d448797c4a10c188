"""Texts that decide which row wins: times are told, other texts are asked about."""

import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from headwater.ingest.inference.ordering_types import (
    are_times,
    build_text_refusal,
    find_text_columns,
    type_times,
)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["2026-05-02T10:00:00+02:00", "2026-05-02T09:00:00Z"], True),
        (["2026-05-02", "2026-05-02 10:00", "2026-05-02T10:00:00.123456789+0200"], True),
        (["9", "10"], False),
        (["10:00:00+02:00", "09:00:00Z"], False),
        (["2026-05-02T10:00:00Z", "yesterday"], False),
        (["02.05.2026"], False),
    ],
)
def test_only_dates_and_times_of_iso_are_times(texts: list[str], expected: bool) -> None:
    assert are_times(texts) is expected


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (["9", "10"], 'schema_hints: "v bigint"'),
        (["1.5", "10.25"], 'schema_hints: "v double"'),
        (["10:00Z", "x"], 'schema_hints: "v timestamp"'),
        ([], 'schema_hints: "v string"'),
    ],
)
def test_refusal_has_the_line_to_add(texts: list[str], line: str) -> None:
    error = build_text_refusal("t", "ordering", "v", texts)
    assert error.message.startswith("tables.t.ordering: column 'v' is text")
    assert line in error.hint
    assert 'schema_hints: "v string"' in error.hint


def test_text_columns_are_found_by_their_names_in_the_table() -> None:
    schema = StructType([StructField("größe", StringType()), StructField("n", LongType())])
    assert find_text_columns(schema, {"grosse", "n"}) == ["größe"]
    assert type_times(schema, ["größe"]).fields[0].dataType == TimestampType()

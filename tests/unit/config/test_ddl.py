"""Column lists as DDL, checked without Spark; `test_ddl_is_what_spark_takes` compares the two."""

import pytest

from headwater.config.processing.ddl import DdlError, check_ddl
from tests.fixtures.configuration.ddl import BROKEN, GOOD, REFUSED


@pytest.mark.parametrize("ddl", GOOD)
def test_columns_that_spark_takes(ddl: str) -> None:
    check_ddl(ddl)


@pytest.mark.parametrize("ddl", [*BROKEN, *REFUSED])
def test_invalid_column_lists(ddl: str) -> None:
    with pytest.raises(DdlError):
        check_ddl(ddl)


@pytest.mark.parametrize(
    ("ddl", "words"),
    [
        ("", "empty"),
        ("id", "column 'id' has no type"),
        ("id bigint, name", "column 'name' has no type"),
        ("id bigintt", "did you mean `bigint`"),
        ("id qwxz", "Allowed: boolean"),
        ("id bigint name string", "expected `,` or the end before 'name'"),
        ("größe int", "requires backticks: `größe`"),
        ("id bigint, ID string", "column 'ID' is duplicate"),
        ("s struct<a: int, A: int>", "column 'A' is duplicate"),
        ("a array<int", "expected `>` before the end"),
        ("m map<string>", "expected `,` before '>'"),
        ("d decimal(39)", "38 digits"),
        ("c varchar", "requires a length"),
    ],
)
def test_reason_names_the_offset(ddl: str, words: str) -> None:
    with pytest.raises(DdlError) as raised:
        check_ddl(ddl)
    assert words in str(raised.value)

"""Column lists as DDL, checked without Spark; `test_ddl_is_what_spark_takes` compares the two."""

import pytest

from headwater.config.processing.ddl import DdlError, check_ddl
from tests.fixtures.configuration.ddl import BROKEN, GOOD, REFUSED


@pytest.mark.parametrize("ddl", GOOD)
def test_columns_that_spark_takes(ddl: str) -> None:
    check_ddl(ddl)


@pytest.mark.parametrize("ddl", [*BROKEN, *REFUSED])
def test_what_is_no_list_of_columns(ddl: str) -> None:
    with pytest.raises(DdlError):
        check_ddl(ddl)


@pytest.mark.parametrize(
    ("ddl", "words"),
    [
        ("", "empty"),
        ("id", "the column 'id' has no type"),
        ("id bigint, name", "the column 'name' has no type"),
        ("id bigintt", "did you mean `bigint`"),
        ("id qwxz", "Allowed: boolean"),
        ("id bigint name string", "expected `,` or the end before 'name'"),
        ("größe int", "needs backticks: `größe`"),
        ("id bigint, ID string", "names the column 'ID' twice"),
        ("s struct<a: int, A: int>", "names the column 'A' twice"),
        ("a array<int", "expected `>` before the end"),
        ("m map<string>", "expected `,` before '>'"),
        ("d decimal(39)", "38 digits"),
        ("c varchar", "needs a length"),
    ],
)
def test_the_reason_names_the_place(ddl: str, words: str) -> None:
    with pytest.raises(DdlError) as raised:
        check_ddl(ddl)
    assert words in str(raised.value)

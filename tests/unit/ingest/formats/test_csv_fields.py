import re

import pytest

from headwater.ingest.formats.csv_fields import CsvDialect

STRICT = CsvDialect(is_strict=True)


@pytest.mark.parametrize(
    ("record", "is_complete", "is_open"),
    [
        ('a,"b ""c""",d', True, False),
        ('"","",', True, False),
        ('a,"b', False, True),
        ('a,"b""', False, True),
        ('"a"",b', False, True),
        ('5" pipe,x', True, False),
        ('"a" b,c', False, False),
        ('x"y,"abc', False, True),
        ('"a" ,b', True, False),
    ],
)
def test_lines_are_split_as_in_java(record: str, is_complete: bool, is_open: bool) -> None:
    assert STRICT.is_complete(record) is is_complete
    assert STRICT.is_open(record) is is_open
    # Python knows possessive quantifiers from 3.11 on; here nothing has to backtrack.
    java = [STRICT.build_pattern(), STRICT.build_pattern(is_open=True)]
    complete, still_open = (re.compile(pattern.replace("*+", "*"), re.DOTALL) for pattern in java)
    assert (complete.fullmatch(record) is not None) is is_complete
    assert (still_open.fullmatch(record) is not None) is is_open


@pytest.mark.parametrize(
    ("record", "is_complete"), [(r'a,"b\"c"', True), (r'a,"b\\"', True), (r'a,"b\"', False), ('"a" b', True)]
)
def test_with_another_escape_only_an_open_quote_is_incomplete(record: str, is_complete: bool) -> None:
    assert CsvDialect(escape="\\").is_complete(record) is is_complete

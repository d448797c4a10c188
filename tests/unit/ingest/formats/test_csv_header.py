import pytest

from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.csv_header import detect_header, find_other_delimiter, has_header
from headwater.ingest.formats.reader_options import ReaderOptions

DIALECT = CsvDialect(is_strict=True)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (["id,name", "1,Ada", "2,Grace"], True),
        (['"id","day"', '"x","2026-05-02"'], True),
        (["name,ok", "Ada,true", "Grace,"], True),
        (["name,at", "Ada,10:30"], True),
        ([",price", "0,1.5", "1,2.5"], True),
        (["zip,city", "01234,Berlin"], True),
        (["1,Ada", "2,Grace"], False),
        (["1,Ada"], False),
        (["2026-05-02,x", "2026-05-03,y"], False),
        (["name,city", "Ada,London"], None),
        (["name,city"], None),
        (["x,2023", "1,5"], None),
        ([], None),
    ],
)
def test_header_is_detected_by_the_values_below(records: list[str], expected: bool | None) -> None:
    assert detect_header(DIALECT, records) is expected


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (["id;price", "1;3,50", "2;4"], ";"),
        (["id\tname", "1\ta b"], "\t"),
        (["a|b", "1|2"], "|"),
        (["id,a;b", "1,2;3"], None),
        (["note", "a; b", "c"], None),
        (["note", "x"], None),
        ([], None),
    ],
)
def test_another_delimiter_shows_where_a_comma_makes_one_column(
    records: list[str], expected: str | None
) -> None:
    assert find_other_delimiter(DIALECT, records) == expected


@pytest.mark.parametrize(
    ("first", "expected"),
    [("id,name", True), ("NAME,ID", True), ('"id","more"', True), ("1,Ada", False), ("id,1", False)],
)
def test_without_the_option_a_record_of_column_names_is_a_header(first: str, expected: bool) -> None:
    assert has_header(DIALECT, ReaderOptions({}), first, ("id", "name")) is expected


def test_the_option_wins() -> None:
    assert has_header(DIALECT, ReaderOptions({"header": "true"}), "1,2", ("id", "name"))
    assert not has_header(DIALECT, ReaderOptions({"Header": "false"}), "id,name", ("id", "name"))

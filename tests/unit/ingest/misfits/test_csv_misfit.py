import pytest

from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.misfits.csv_misfit import CsvRules, find_csv_misfit
from headwater.ingest.misfits.finder import MisfitFinder

COLUMNS = [
    ("id", "long"),
    ("name", "string"),
    ("price", "double"),
    ("exact", "decimal(5,2)"),
    ("ok", "boolean"),
    ("day", "date"),
    ("at", "timestamp"),
]
GOOD = ["1", "a", "1e3", "-1.5", "TRUE", "2026-01-31", "2026-01-31 10:00:00"]


def find(record: str, **options: str) -> str:
    found = find_csv_misfit(record, COLUMNS, CsvRules.from_options(ReaderOptions(options)))
    return found.describe() if found else ""


@pytest.mark.parametrize(
    ("column", "text", "misfit"),
    [
        ("id", "1.5", 'id is "1.5", and its column has numbers (long)'),
        ("id", "9223372036854775808", 'id is "9223372036854775808", and its column has numbers (long)'),
        ("id", "1_000", 'id is "1_000", and its column has numbers (long)'),
        ("price", '"1,5"', 'price is "1,5", and its column has numbers (double)'),
        ("exact", "1000", 'exact is "1000", and its column has numbers (decimal(5,2))'),
        ("ok", "yes", 'ok is "yes", and its column is boolean'),
        ("day", "2026-02-30", 'day is "2026-02-30", and its column has dates'),
        ("day", "20260131", 'day is "20260131", and its column has dates'),
        ("at", "noon", 'at is "noon", and its column has times'),
        ("name", "anything", ""),
        ("price", "", ""),
    ],
)
def test_the_only_value_that_may_not_fit_is_named(column: str, text: str, misfit: str) -> None:
    fields = [text if name == column else good for (name, _), good in zip(COLUMNS, GOOD, strict=True)]
    assert find(",".join(fields)) == misfit


def test_of_several_values_none_is_named() -> None:
    assert find(",".join(["x", *GOOD[1:5], "30.1.2026", GOOD[6]])) == ""


def test_a_date_may_fit_a_format_and_a_text_may_stand_for_null() -> None:
    record = ",".join(["NA", *GOOD[1:2], "much", *GOOD[3:]])
    assert find(record, nullValue="NA") == 'price is "much", and its column has numbers (double)'
    assert find(",".join([*GOOD[:2], "much", *GOOD[3:]]), dateFormat="dd.MM.yyyy") == ""


def test_the_number_of_fields_is_compared() -> None:
    assert find("1,a") == "it has 2 fields, and the table 7 columns"
    assert find("1") == "it has 1 field, and the table 7 columns"
    assert find(",".join([*GOOD, "b"]), sep=",") == "it has 8 fields, and the table 7 columns"
    assert find(";".join(GOOD[:3]), sep=";") == "it has 3 fields, and the table 7 columns"


def test_an_open_quote_is_named() -> None:
    assert find('1,"a,2') == "it has a quote that is not closed, or not doubled"


def test_records_with_fields_in_another_order_are_not_explained() -> None:
    schema = {"type": "struct", "fields": [{"name": "id", "type": "long"}, {"name": "n", "type": "string"}]}
    finder = MisfitFinder(schema, CsvRules.from_options(ReaderOptions({})), frozenset({3}))
    found = finder.find(2, "a,5")
    assert found is not None
    assert found.place == "id"
    assert finder.find(3, "a,5") is None
    assert MisfitFinder().find(2, "a,5") is None

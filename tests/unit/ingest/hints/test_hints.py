"""What objects of another dialect are told: the option that reads them."""

import json

import pytest

from headwater.errors import ObjectSchemaError
from headwater.ingest.formats.csv import CsvFormat
from headwater.ingest.formats.protocol import ObjectData, Target
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.hints.record_shape import ARRAY, PRETTY, describe_shape
from headwater.ingest.hints.separator import describe_separator, find_separator

RECORD = {"id": 1, "deep": {"x": [1, 2]}}


@pytest.mark.parametrize(
    ("text", "expected_message"),
    [
        (json.dumps(RECORD, indent=2), PRETTY),
        (json.dumps(RECORD, indent="\t"), PRETTY),
        ('{ "id": 1,\n  "b": 2 }', PRETTY),
        ('  "id": 1,\n', PRETTY),
        (json.dumps([RECORD], indent=2), ARRAY),
        ("[\n{}\n]", ARRAY),
        ('[{"id": 1,\n', ARRAY),
        ('{"order_id": 3, "amount":', ""),
        ('{"n": "x"}', ""),
        ('"word"', ""),
        ("id,s", ""),
        ("", ""),
    ],
)
def test_first_invalid_line_determines_the_hint(text: str, expected_message: str) -> None:
    assert describe_shape(text.splitlines()[0] if text else "") == expected_message


@pytest.mark.parametrize(
    ("lines", "sign"),
    [
        (["id;name", "1;a"], ";"),
        (["id\tname", "1\ta"], "\t"),
        (["id|name|x", "1|a|b", "||"], "|"),
        (["id;name", "1;a", "2"], None),
        (["id;name", "1,a"], None),
        (["id;name"], None),
        (["name", "a;b"], None),
        (["id,name;x", "1,a;b"], None),
    ],
)
def test_a_separator_is_one_when_every_record_has_it_as_often(lines: list[str], sign: str | None) -> None:
    assert find_separator(lines[:1], lines[1:]) == sign


def test_a_tab_is_written_as_yaml_takes_it() -> None:
    assert describe_separator("\t") == 'its fields are separated by a tab; set `options: {sep: "\\t"}`'


@pytest.mark.parametrize("options", [{"header": "true"}, {}])
def test_csv_with_another_separator_is_refused_with_the_option(options: dict[str, str]) -> None:
    source = ObjectData("s3://b/k.csv", b"id;name\n1;a\n2;b\n")
    for read in (
        lambda: CsvFormat().read_lines(source, ReaderOptions(options), Target()),
        lambda: CsvFormat().read_lines(source, ReaderOptions(options), Target(("id", "name"))),
    ):
        with pytest.raises(ObjectSchemaError, match=r"set `options: \{sep: ';'\}`"):
            read()


@pytest.mark.parametrize("name", ["sep", "delimiter"])
def test_a_separator_that_is_given_counts(name: str) -> None:
    source = ObjectData("s3://b/k.csv", b"id;name\n1;a\n")
    found = CsvFormat().read_lines(source, ReaderOptions({name: ",", "header": "true"}), Target())
    assert list(found.texts) == ["1;a"]

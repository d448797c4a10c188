"""Fields without a column: found in records, spelled as the table does, kept with all their digits."""

import json

import pyarrow as pa
import pytest

from headwater.ingest.evolution.unknown_fields import FieldScanner, ScannedTexts
from headwater.ingest.formats.json_values import mark_ambiguous
from headwater.ingest.formats.markers import MALFORMED, REPEATED_NAME

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("at", pa.struct([("city", pa.string())])),
        ("items", pa.list_(pa.struct([("sku", pa.string())]))),
        ("by_day", pa.map_(pa.string(), pa.struct([("n", pa.int64())]))),
        ("raw", pa.string()),
    ]
)


def scan(*texts: str, ignored: tuple[str, ...] = ()) -> ScannedTexts:
    return FieldScanner(SCHEMA, ignored).scan(texts, rescues=True)


@pytest.mark.parametrize(
    "text",
    [
        '{"id": 1, "at": {"city": "x"}, "items": [{"sku": "a"}, null], "by_day": {"any": {"n": 1}}}',
        '{"id": null, "new": null, "also": {}, "or": []}',
        '{"raw": {"anything": {"goes": 1}}}',
        '{"at": [{"zip": 1}], "items": {"new": 1}}',
        '{"by_day": [1]}',
        '{"by_day": [["mon", {"m": 1}], {"m": 1}]}',
        "no json",
        '{"id": 1',
        "[]",
        "",
    ],
)
def test_record_without_unknown_fields_is_left_alone(text):
    texts = (text,)
    found = FieldScanner(SCHEMA).scan(texts, rescues=True)
    assert found.texts is texts
    assert (found.rescued, found.sample) == ((), ())


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ('{"id": 1, "new": 2}', '{"new":2}'),
        ('  {"new": 1.10, "big": 12345678901234567890123}', '{"new":1.10,"big":12345678901234567890123}'),
        ('{"at": {"city": "x", "id": 1e400}}', '{"at":{"id":1e400}}'),
        ('{"items": [{"sku": "a"}, {"n": [1, {"x": "é\\n"}]}]}', '{"items":[null,{"n":[1,{"x":"é\\n"}]}]}'),
        ('{"by_day": {"mon": {"n": 1, "m": true}}}', '{"by_day":{"mon":{"m":true}}}'),
    ],
)
def test_unknown_fields_are_found_at_every_depth_as_they_are_written(text, unknown):
    found = scan('{"id": 0}', text)
    assert list(found.rescued) == [None, unknown]
    assert found.sample == (unknown,)
    assert found.texts[1] == text


def test_names_in_another_case_get_the_tables_spelling_unless_both_are_there():
    found = scan('{"ID": 1.50, "At": {"CITY": "x"}}', '{"id": 1, "ID": 2}')
    assert json.loads(found.texts[0]) == {"id": 1.5, "at": {"city": "x"}}
    assert "1.50" in found.texts[0]
    assert found.texts[1] == '{"id": 1, "ID": 2}'
    assert list(found.rescued) == [None, '{"ID":2}']
    assert found.sample == ()


def test_ignored_names_are_never_unknown():
    assert scan('{"day": 1}', ignored=("day",)).sample == ()


def test_sample_has_every_name_and_few_records_of_each():
    texts = [f'{{"id": {n}, "common": {n}}}' for n in range(500)] + ['{"common": 1, "rare": "x"}']
    found = scan(*texts)
    assert len(found.sample) < 50
    assert '"rare":"x"' in found.sample[-1]


def test_row_of_typed_columns_returns_unknown_fields():
    row = {"id": 1, "extra": 5, "at": {"city": "x", "zip": None, "street": "s"}, "items": None}
    assert FieldScanner(SCHEMA).find_in_row(row) == {"extra": 5, "at": {"street": "s"}}


@pytest.mark.parametrize(
    "text",
    ['{"a":1,"a":2}', '{"a":1,"A":2}', '{"b":{"x":1,"x":2}}', '{"b":{"x":1,"X":2}}', '{"new":1,"new":1}'],
)
def test_record_that_names_a_field_twice_is_marked(text: str) -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.struct([("x", pa.int64())]))])
    found = FieldScanner(schema).scan(['{"a":1}', text], rescues=False)
    assert found.texts == ['{"a":1}', REPEATED_NAME + text]


@pytest.mark.parametrize("text", ['{"a":1} x', '{"a":1}{"a":', '{"a":1}]', '{"a":1} x}', ' {"a":1},{"a":2'])
def test_record_with_trailing_content_is_marked(text: str) -> None:
    found = FieldScanner(pa.schema([("a", pa.int64())])).scan([text], rescues=False)
    assert found.texts == [MALFORMED + text]
    assert list(mark_ambiguous([text])) == [MALFORMED + text]


@pytest.mark.parametrize(
    "text", ['{"a":1}', '{"a":1} \t', '{"a":1},', '{"a":1} // x', ' {"a":1} /* x */', "5"]
)
def test_comma_or_comment_behind_a_document_costs_nothing(text: str) -> None:
    assert FieldScanner(pa.schema([("a", pa.int64())])).scan([text], rescues=False).texts == [text]
    assert list(mark_ambiguous([text])) == [text]


def test_second_spelling_that_is_null_or_rescued_costs_nothing() -> None:
    scanner = FieldScanner(pa.schema([("a", pa.int64())]))
    assert scanner.scan(['{"a":1,"A":null}'], rescues=False).texts == ['{"a":1,"A":null}']
    found = scanner.scan(['{"a":1,"A":2}'], rescues=True)
    assert (found.texts, found.rescued) == (['{"a":1,"A":2}'], ['{"A":2}'])

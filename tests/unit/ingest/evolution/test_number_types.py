"""Of records that did not fit, only numbers in columns of numbers ask for wider types."""

from typing import Any

import pytest
from pyspark.sql.types import StructType

from headwater.ingest.evolution.number_types import find_numbers_in_fields, find_numbers_in_json
from headwater.ingest.evolution.schema_merge import MergeRules, merge_schemas


def parse(**columns: Any) -> StructType:
    return StructType.fromJson(
        {
            "type": "struct",
            "fields": [
                {"name": name, "type": kind, "nullable": True, "metadata": {}}
                for name, kind in columns.items()
            ],
        }
    )


PRESENT = parse(n="long", d="decimal(5,2)", s="string", b="boolean")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"n": 1.5}', {"n": "double"}),
        ('{"n": 1, "s": 5, "b": 3}', {"n": "bigint"}),
        ('{"n": 9223372036854775808}', {"n": "decimal(19,0)"}),
        ('{"d": 12345.678}', {"d": "decimal(8,3)"}),
        ('{"d": 1e3}', {"d": "decimal(4,0)"}),
        ('{"n": "1.5"}', {}),
        ('{"n": [1.5], "other": 1}', {}),
        ('{"n": NaN}', {}),
        ("no json", {}),
        ("[1]", {}),
    ],
)
def test_json_record_has_number_types(text, expected):
    found = find_numbers_in_json([text], PRESENT)
    columns = {f.name: f.dataType.simpleString() for schema in found for f in schema}
    assert columns == expected


def test_numbers_in_quotes_count_where_there_is_nothing_else():
    (found,) = find_numbers_in_json(['{"n": "1.5", "s": "2"}'], PRESENT, quoted=True)
    assert found.simpleString() == "struct<n:double>"


def test_numbers_are_found_inside_of_structs_arrays_and_maps():
    inside = {"type": "struct", "fields": parse(x="long").jsonValue()["fields"]}
    array = {"type": "array", "elementType": inside, "containsNull": True}
    by_name = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}
    present = parse(s=inside, l=array, m=by_name)
    text = '{"s": {"x": 0.5}, "l": [{"x": "word"}, {"x": 2.5}], "m": {"k": 1.5, "j": 1}}'
    (found,) = find_numbers_in_json([text], present)
    merged = merge_schemas(present, found, MergeRules(is_text=True)).schema
    assert (
        merged.simpleString() == "struct<s:struct<x:double>,l:array<struct<x:double>>,m:map<string,double>>"
    )


def test_csv_fields_are_read_by_position_and_malformed_records_skipped():
    found = find_numbers_in_fields([["1.5", " 2.345", "x", ""], ["1.5"], ["x", "", "1", "2"]], PRESENT)
    assert [schema.simpleString() for schema in found] == ["struct<n:double,d:decimal(4,3)>"]

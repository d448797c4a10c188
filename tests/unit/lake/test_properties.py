"""Java's properties, as Hudi writes them."""

import pytest

from headwater.lake.properties import TableProperties, parse_properties


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("#Updated at now\n!so\n\na=1\n", {"a": "1"}),
        ("a.b = c d \n", {"a.b": "c d "}),
        ("a:1", {"a": "1"}),
        ("empty=", {"empty": ""}),
        (r"schema={\"type\"\:\"record\"\=}", {"schema": '{"type":"record"=}'}),
        (r"city=Z\u00fcrich\tA", {"city": "Zürich\tA"}),
        ("long=a,\\\n   b", {"long": "a,b"}),
        (r"path=C\:\\lake", {"path": "C:\\lake"}),
        ("a=x=y", {"a": "x=y"}),
    ],
)
def test_text_is_read_as_java_reads_it(text, found):
    assert parse_properties(text) == found


def test_lists_flags_and_numbers_have_defaults():
    reported = TableProperties(
        {
            "hoodie.table.recordkey.fields": "a, b,",
            "hoodie.table.cdc.enabled": "TRUE",
            "hoodie.table.version": "9",
            "hoodie.table.initial.version": "nine",
        }
    )
    assert reported.read_list("record_keys") == ("a", "b")
    assert reported.read_list("partition_fields") == ()
    assert reported.read_flag("cdc")
    assert reported.read_flag("meta_fields", default=True)
    assert reported.read_number("table_version", 0) == 9
    assert reported.read_number("initial_version", 7) == 7
    assert reported.read("timezone", "LOCAL") == "LOCAL"

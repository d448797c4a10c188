"""What HiveServer2 answers, as one of version 2.3.9 wrote it."""

from headwater.lake.catalogs.catalog_table import CatalogColumn, StorageFormat
from headwater.lake.catalogs.hive.description import parse_description

BLANK = ("", None, None)
ANSWER = [
    ("# col_name            ", "data_type           ", "comment             "),
    BLANK,
    ("id", "bigint", "first line"),
    ("", "", "second line"),
    ("address", "struct<city:string,date:string>", 'a \\"home\\",\\nor not'),
    ("price", "decimal(10,2)", "from deserializer"),
    BLANK,
    ("# Partition Information", None, None),
    ("# col_name            ", "data_type           ", "comment             "),
    BLANK,
    ("day", "string", ""),
    BLANK,
    ("# Detailed Table Information", None, None),
    ("Database:           ", "shop                ", None),
    ("Location:           ", "file:/lake/a folder/orders", None),
    ("Table Type:         ", "EXTERNAL_TABLE      ", None),
    ("Table Parameters:", None, None),
    ("", "EXTERNAL            ", "TRUE                "),
    ("", "a                   ", '{\\"x\\ty\\":\\"\'\\\\n\\"} '),
    ("", "ends.with.a.blank   ", "and is longer than twenty "),
    ("", "numFiles            ", "0                   "),
    ("", "snow                ", "\\u2603 \\u00E9t\\u00E9"),
    ("", "transient_lastDdlTime", "1795435697          "),
    BLANK,
    ("# Storage Information", None, None),
    ("SerDe Library:      ", "ser.De", None),
    ("InputFormat:        ", "in.Put", None),
    ("OutputFormat:       ", "out.Put", None),
    ("Compressed:         ", "No                  ", None),
    ("Storage Desc Params:", None, None),
    ("", "path                ", "/tmp/x              "),
]


def test_everything_of_a_table_is_read() -> None:
    found = parse_description(ANSWER)
    assert found.columns == (
        CatalogColumn("id", "bigint"),
        CatalogColumn("address", "struct<city:string,date:string>"),
        CatalogColumn("price", "decimal(10,2)"),
    )
    assert found.partition_keys == (CatalogColumn("day", "string"),)
    assert found.location == "file:/lake/a folder/orders"
    assert found.format == StorageFormat("in.Put", "out.Put", "ser.De")
    assert found.serde_properties == {"path": "/tmp/x"}
    assert found.comments == {"id": "first line\nsecond line", "address": 'a "home",\nor not'}


def test_properties_are_those_that_were_written() -> None:
    assert parse_description(ANSWER).properties == {
        "EXTERNAL": "TRUE",
        "a": '{"x\ty":"\'\\n"}',
        "ends.with.a.blank": "and is longer than twenty ",
        "snow": "☃ été",
    }


def test_constraints_are_passed_over() -> None:
    later = [*ANSWER, BLANK, ("# Constraints", None, None), ("Table:", "shop.orders", None), ("", "x", "y")]
    assert parse_description(later) == parse_description(ANSWER)


def test_invalid_escapes_are_kept() -> None:
    rows = [*ANSWER[:16], ("Table Parameters:", None, None), ("", "note", 'a "word" of somebody else')]
    assert parse_description(rows).properties["note"] == 'a "word" of somebody else'

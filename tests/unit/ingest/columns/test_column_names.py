"""What columns are called in a table: stable, unique, and readable by every engine."""

import pytest
from pyspark.sql.types import ArrayType, LongType, MapType, StringType, StructField, StructType

from headwater.ingest.columns.column_names import (
    assign_names,
    assign_old_names,
    list_renamed,
    rename_for_hudi,
)


def build(*names: str) -> StructType:
    return StructType([StructField(name, LongType()) for name in names])


def store(schema: StructType) -> StructType:
    """As it comes back from the table's commit metadata."""
    return StructType.fromJson(schema.jsonValue())


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("id", "Order ID", "price (€)", "a.b"), ["id", "Order_ID", "price____", "a_b"]),
        (("a b", "a_b"), ["a_b_2", "a_b"]),
        (("a b", "a-b", "A B"), ["a_b", "a_b_2", "A_B_3"]),
        (("größe", "grosse", "naïve", "Łódź"), ["grosse_2", "grosse", "naive", "Lodz"]),
        (("价格", "цена"), ["u4ef7u683c", "u0446u0435u043du0430"]),
        (("2024", "", "½", "x²"), ["_2024", "_", "u00bd", "x2"]),
        (("a_b_2", "a_b", "a b"), ["a_b_2", "a_b", "a_b_3"]),
    ],
)
def test_names_are_ascii_and_none_takes_that_of_another(names: tuple[str, ...], expected: list[str]) -> None:
    assert rename_for_hudi(assign_names(build(*names))).fieldNames() == expected


def test_columns_of_the_table_keep_their_names_whatever_comes_later() -> None:
    first = store(assign_names(build("a b", "größe")))
    later = assign_names(build("grosse", "a_b", "größe", "a b"), first)
    assert rename_for_hudi(later).fieldNames() == ["grosse_2", "a_b_2", "grosse", "a_b"]
    assert assign_names(store(later), first) == later


def test_columns_of_an_older_lake_keep_their_names() -> None:
    old = assign_old_names(build("a b", "a_b", "größe", "2x"))
    assert rename_for_hudi(old).fieldNames() == ["a_b", "a_b_1", "größe", "_2x"]
    assert assign_old_names(store(old)) == old
    later = assign_names(StructType([*old, StructField("größe 2", LongType())]), old)
    assert rename_for_hudi(later).fieldNames() == ["a_b", "a_b_1", "größe", "_2x", "grosse_2"]
    plain = build("a", "b")
    assert assign_old_names(plain) is plain


def test_nested_fields_have_names_of_their_own() -> None:
    inside = build("x y", "x_y")
    schema = StructType(
        [
            StructField("s t", inside),
            StructField("l", ArrayType(inside)),
            StructField("m", MapType(StringType(), inside)),
        ]
    )
    named = assign_names(schema)
    renamed = rename_for_hudi(named)
    assert [f.simpleString() for f in renamed] == [
        "s_t:struct<x_y_2:bigint,x_y:bigint>",
        "l:array<struct<x_y_2:bigint,x_y:bigint>>",
        "m:map<string,struct<x_y_2:bigint,x_y:bigint>>",
    ]
    assert assign_names(schema, store(named)) == named
    assert list(list_renamed(named)) == [
        ("s t", "s_t"),
        ("s t.x y", "s_t.x_y_2"),
        ("l.x y", "l.x_y_2"),
        ("m.x y", "m.x_y_2"),
    ]


def test_names_of_hudi_and_headwater_are_never_those_of_data() -> None:
    reserved = build("_hoodie_is_deleted", "_HOODIE_commit_time", "field_hoodie_is_deleted", "_headwater_row")
    wanted = [
        "field_hoodie_is_deleted_2",
        "field_HOODIE_commit_time",
        "field_hoodie_is_deleted",
        "field_headwater_row",
    ]
    named = assign_names(reserved)
    assert rename_for_hudi(named).fieldNames() == wanted
    assert assign_names(store(named), named) == named
    # Also where an older release took the name as it was.
    assert rename_for_hudi(assign_names(reserved, build("_hoodie_is_deleted"))).fieldNames() == wanted

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from headwater.errors import ObjectSchemaError
from headwater.ingest.formats.arrow_types import conform_table, to_spark_schema, unify_columns

DAY = dt.date(2024, 1, 2)
UTC = dt.timezone.utc


def conform(array: pa.Array, target: pa.DataType) -> pa.Array:
    table, _, _ = conform_table("s3a://b/k", pa.table({"c": array}), pa.schema([("c", target)]))
    assert table.schema.field("c").type == target
    return table.column("c")


@pytest.mark.parametrize(
    ("array", "target", "expected"),
    [
        (pa.array([1, None], pa.int8()), pa.int64(), [1, None]),
        (pa.array([1], pa.uint32()), pa.int64(), [1]),
        (pa.array([1], pa.int64()), pa.int32(), [1]),
        (pa.array([1], pa.int32()), pa.float64(), [1.0]),
        (pa.array([0.5], pa.float32()), pa.float64(), [0.5]),
        (pa.array([7], pa.int32()), pa.decimal128(12, 2), [Decimal("7.00")]),
        (pa.array([Decimal("1.5")]), pa.decimal128(10, 3), [Decimal("1.500")]),
        (pa.array([DAY]), pa.timestamp("us", tz="UTC"), [dt.datetime(2024, 1, 2, tzinfo=UTC)]),
        (
            pa.array([1_000_001], pa.timestamp("ns")),
            pa.timestamp("us"),
            [dt.datetime(1970, 1, 1, 0, 0, 0, 1000)],
        ),
        (
            pa.array([1], pa.timestamp("s")),
            pa.timestamp("us", tz="UTC"),
            [dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)],
        ),
        (pa.array(["a", None, "a"]).dictionary_encode(), pa.string(), ["a", None, "a"]),
        (pa.array(["a"], pa.large_string()), pa.string(), ["a"]),
        (pa.array([b"a"]), pa.string(), ["a"]),
        (pa.array(["a"]), pa.binary(), [b"a"]),
        (pa.array([b"ab"], pa.binary(2)), pa.binary(), [b"ab"]),
        (pa.nulls(2), pa.int32(), [None, None]),
        (pa.array([dt.time(0, 0, 1)], pa.time32("ms")), pa.int32(), [1000]),
        (pa.array([[1], None, []], pa.list_(pa.int32())), pa.list_(pa.int64()), [[1], None, []]),
        (pa.array([[1, 2], None], pa.list_(pa.float32(), 2)), pa.list_(pa.float64()), [[1.0, 2.0], None]),
        (pa.array([["a"], None], pa.large_list(pa.large_string())), pa.list_(pa.string()), [["a"], None]),
        (
            pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int32())),
            pa.map_(pa.string(), pa.int64()),
            [[("a", 1)], None],
        ),
    ],
)
def test_values_survive_in_the_tables_type(
    array: pa.Array, target: pa.DataType, expected: list[object]
) -> None:
    assert conform(array, target).to_pylist() == expected


@pytest.mark.parametrize(
    ("array", "target", "what"),
    [
        (pa.array(["1"]), pa.int64(), "has type string; the table's type is int64"),
        (pa.array([1]), pa.string(), "has type int64; the table's type is string"),
        (pa.array([1.5]), pa.int64(), "has type double; the table's type is int64"),
        (pa.array([2**53 + 1]), pa.float64(), "has type int64; the table's type is double"),
        (pa.array([2**40]), pa.int32(), "not in range"),
        (pa.array([b"\xff\xfe"]), pa.string(), "UTF8"),
        (pa.array([True]), pa.int32(), "has type bool; the table's type is int32"),
        (pa.array([[1]]), pa.int64(), r"has type list.* the table's type is int64"),
        (pa.array([1]), pa.struct([("a", pa.int64())]), "has type int64; the table's type is struct"),
        (
            pa.array([{"a": "x"}]),
            pa.struct([("a", pa.int64())]),
            "has type struct<a: string>; the table's type is struct<a: int64>",
        ),
        (pa.array([Decimal("123.45")]), pa.decimal128(3, 1), "the table's type is decimal128"),
        (pa.array([dt.datetime(2024, 1, 1)]), pa.date32(), "the table's type is date32"),
    ],
)
def test_lossy_conversions_are_rejected_with_both_types(
    array: pa.Array, target: pa.DataType, what: str
) -> None:
    with pytest.raises(ObjectSchemaError, match=what) as caught:
        conform(array, target)
    assert "column c of s3a://b/k" in caught.value.message


def test_columns_are_found_by_name_in_any_case() -> None:
    table = pa.table({"B": [1], "extra": [2], "a": ["x"], "b": [3]})
    target = pa.schema([("a", pa.string()), ("b", pa.int64()), ("gone", pa.int32()), ("EXTRA", pa.int64())])

    found, dropped, missing = conform_table("k", table, target)

    assert found.to_pylist() == [{"a": "x", "b": 3, "gone": None, "EXTRA": 2}]
    assert (dropped, missing) == (("B",), ("gone",))


def test_structs_are_conformed_field_by_field_and_keep_their_nulls() -> None:
    source = pa.array(
        [{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}], pa.struct([("x", pa.int32()), ("y", pa.string())])
    )
    target = pa.struct([("y", pa.string()), ("x", pa.int64()), ("z", pa.bool_())])

    assert conform(source, target).to_pylist() == [
        {"y": "a", "x": 1, "z": None},
        None,
        {"y": "b", "x": None, "z": None},
    ]


def test_slices_and_chunks_keep_their_rows() -> None:
    kind = pa.list_(pa.struct([("x", pa.int32())]))
    rows = [[{"x": 1}], None, [], [{"x": 2}, None]]
    chunked = pa.chunked_array([pa.array([[{"x": 0}], *rows], kind).slice(1), pa.array(rows, kind)])
    target = pa.list_(pa.struct([("x", pa.int64())]))

    found, _, _ = conform_table("k", pa.table({"c": chunked}), pa.schema([("c", target)]))

    assert found.column("c").to_pylist() == rows * 2


def test_columns_of_several_objects_are_all_there_and_as_wide_as_the_widest() -> None:
    first = pa.schema([("n", pa.int32()), ("s", pa.struct([("x", pa.int32())])), ("t", pa.string())])
    second = pa.schema(
        [("N", pa.int64()), ("s", pa.struct([("x", pa.int64()), ("y", pa.bool_())])), ("l", pa.int8())]
    )
    assert unify_columns([first, second]) == pa.schema(
        [
            ("n", pa.int64()),
            ("s", pa.struct([("x", pa.int64()), ("y", pa.bool_())])),
            ("t", pa.string()),
            ("l", pa.int8()),
        ]
    )


def test_integers_and_floats_of_several_objects_are_doubles() -> None:
    first, second = pa.schema([("n", pa.int64())]), pa.schema([("n", pa.float64())])
    assert unify_columns([first, second]) == unify_columns([second, first]) == second


@pytest.mark.parametrize("other", [pa.string(), pa.bool_(), pa.date32()])
def test_type_that_would_refuse_objects_seen_before_changes_no_column(other: pa.DataType) -> None:
    first = pa.schema([("n", pa.int64())])
    assert unify_columns([first, pa.schema([("n", other)])]) == first


UNION = pa.UnionArray.from_dense(
    pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["a"])]
)
TEXT_MAP = pa.map_(pa.string(), pa.string())
WIDE = Decimal("9" * 45 + ".125")
ODD: list[tuple[pa.Array, pa.DataType, list[object]]] = [
    (pa.array([dt.time(10, 30, 0, 5), None]), pa.string(), ["10:30:00.000005", None]),
    (pa.array([3_661_000], pa.time32("ms")), pa.string(), ["01:01:01.000"]),
    (pa.array([3_661_000_000_001], pa.time64("ns")), pa.string(), ["01:01:01.000000001"]),
    (pa.array([-1_500, None], pa.duration("ms")), pa.string(), ["PT-1.500S", None]),
    (pa.array([90_061], pa.duration("s")), pa.string(), ["PT90061S"]),
    (pa.array([WIDE], pa.decimal256(50, 3)), pa.string(), [str(WIDE)]),
    (pa.array([Decimal("1.5")], pa.decimal256(20, 3)), pa.decimal128(20, 3), [Decimal("1.500")]),
    (pa.array([Decimal("1.5")], pa.decimal64(10, 1)), pa.decimal128(10, 1), [Decimal("1.5")]),
    (pa.array([Decimal("12300")], pa.decimal128(5, -2)), pa.decimal128(7, 0), [Decimal(12300)]),
    (pa.array([2**64 - 1], pa.uint64()), pa.decimal128(20, 0), [Decimal(2**64 - 1)]),
    (pa.array([1.5], pa.float16()), pa.float32(), [1.5]),
    (pa.array(["a"], pa.string_view()), pa.string(), ["a"]),
    (pa.array([b"a"], pa.binary_view()), pa.binary(), [b"a"]),
    (pa.array([1_001], pa.timestamp("ns")), pa.timestamp("us"), [dt.datetime(1970, 1, 1, 0, 0, 0, 1)]),
    (pa.array([-1], pa.timestamp("ns")), pa.timestamp("us"), [dt.datetime(1969, 12, 31, 23, 59, 59, 999999)]),
    (pa.array([[1], None], pa.list_view(pa.uint8())), pa.list_(pa.int16()), [[1], None]),
    (pa.RunEndEncodedArray.from_arrays([2], ["x"]), pa.string(), ["x", "x"]),
    (UNION, pa.string(), ["1", '"a"']),
    (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), pa.string(), ["[1, 2, 3]"]),
    (pa.array([[(1, "a")], None], pa.map_(pa.int32(), pa.string())), TEXT_MAP, [[("1", "a")], None]),
    (pa.array([[(b"\xff", None)]], pa.map_(pa.binary(), pa.string())), TEXT_MAP, [[("/w==", None)]]),
    (
        pa.array([[({"k": [1]}, "a")]], pa.map_(pa.struct([("k", pa.list_(pa.int32()))]), pa.string())),
        TEXT_MAP,
        [[('{"k":[1]}', "a")]],
    ),
    (pa.array([{}, None], pa.struct([])), pa.string(), ["{}", None]),
    (
        pa.array([{"at": [dt.time(1)]}], pa.struct([("at", pa.list_(pa.time64("us")))])),
        pa.struct([("at", pa.list_(pa.string()))]),
        [{"at": ["01:00:00.000000"]}],
    ),
]


@pytest.mark.parametrize(("array", "kind", "values"), ODD, ids=[str(array.type) for array, _, _ in ODD])
def test_type_that_no_table_has_becomes_one_that_holds_its_values(
    array: pa.Array, kind: pa.DataType, values: list[object]
) -> None:
    assert to_spark_schema(pa.schema([("c", array.type)])).field("c").type == kind
    assert conform(array, kind).to_pylist() == values


def test_instant_that_microseconds_cannot_hold_is_refused() -> None:
    with pytest.raises(ObjectSchemaError, match="out of bounds"):
        conform(pa.array([10**17], pa.timestamp("s")), pa.timestamp("us"))


def test_columns_that_differ_only_in_case_are_both_there() -> None:
    inside = pa.struct([("x", pa.int64()), ("X", pa.int64())])
    table = pa.table({"Name": [1], "name": [2], "NAME_1": [3], "s": pa.array([{"x": 4, "X": 5}], inside)})
    target = to_spark_schema(table.schema)
    assert target.names == ["Name", "name_1_1", "NAME_1", "s"]
    found, dropped, missing = conform_table("k", table, target)
    assert found.to_pylist() == [{"Name": 1, "name_1_1": 2, "NAME_1": 3, "s": {"x": 4, "X_1": 5}}]
    assert (dropped, missing) == ((), ())

"""Which columns a table gets from an object's; how types widen, and which Hudi would refuse."""

import pytest
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.ingest.evolution.schema_merge import (
    ColumnEvolution,
    MergeRules,
    compare_schemas,
    merge_schemas,
)


def struct(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


def merge_types(present: DataType, found: DataType, **rules: bool) -> DataType | None:
    """The type of the merged column; None for a refused one."""
    merge = merge_schemas(struct(c=present), struct(c=found), MergeRules(**rules))  # type: ignore[arg-type]
    return None if merge.changes and merge.changes[0].kind == "refused" else merge.schema["c"].dataType


@pytest.mark.parametrize(
    ("present", "found", "expected"),
    [
        (IntegerType(), LongType(), LongType()),
        (LongType(), IntegerType(), LongType()),
        (ShortType(), IntegerType(), IntegerType()),
        (IntegerType(), DoubleType(), DoubleType()),
        (LongType(), FloatType(), DoubleType()),
        (FloatType(), LongType(), DoubleType()),
        (FloatType(), DoubleType(), DoubleType()),
        (DoubleType(), LongType(), DoubleType()),
        (DoubleType(), DecimalType(10, 2), DoubleType()),
        (DecimalType(10, 2), DecimalType(8, 4), DecimalType(12, 4)),
        (DecimalType(10, 2), LongType(), DecimalType(21, 2)),
        (TimestampType(), DateType(), TimestampType()),
        (LongType(), NullType(), LongType()),
        # Refused by Hudi 1.2, or rounded by it without a word.
        (LongType(), DecimalType(20, 0), None),
        (DecimalType(10, 2), DoubleType(), None),
        (DecimalType(38, 2), DecimalType(38, 4), None),
        (DateType(), TimestampType(), None),
        (BooleanType(), StringType(), None),
        (LongType(), StringType(), None),
        (StringType(), LongType(), None),
        (LongType(), struct(x=LongType()), None),
        (ArrayType(LongType()), ArrayType(DoubleType()), ArrayType(DoubleType())),
        (MapType(StringType(), IntegerType()), MapType(StringType(), LongType()), None),
    ],
)
def test_type_is_widened_where_hudi_can_and_kept_where_not(present, found, expected):
    if isinstance(present, MapType):
        expected = MapType(StringType(), LongType())
    assert merge_types(present, found) == expected


def test_text_fits_into_a_string_column_whatever_it_is():
    assert merge_types(StringType(), LongType(), is_text=True) == StringType()
    assert merge_types(StringType(), struct(x=LongType()), is_text=True) == StringType()


def test_new_columns_come_last_at_every_depth_and_absent_ones_stay():
    present = struct(a=LongType(), s=struct(x=LongType()), l=ArrayType(struct(p=StringType())))
    found = struct(
        new=StringType(), s=struct(y=DoubleType(), X=DoubleType()), l=ArrayType(struct(q=DateType()))
    )
    merge = merge_schemas(present, found, MergeRules())
    assert merge.schema == struct(
        a=LongType(),
        s=struct(x=DoubleType(), y=DoubleType()),
        l=ArrayType(struct(p=StringType(), q=DateType())),
        new=StringType(),
    )
    assert set(merge.changes) == {
        ColumnEvolution("added", "new", None, "string"),
        ColumnEvolution("added", "s.y", None, "double"),
        ColumnEvolution("widened", "s.x", "bigint", "double"),
        ColumnEvolution("added", "l[].q", None, "date"),
    }
    assert set(compare_schemas(present, merge.schema)) == set(merge.changes)


def test_keys_hints_and_columns_from_elsewhere_are_left_as_they_are():
    rules = MergeRules(keys=frozenset({"id"}), pinned=frozenset({"price"}), ignored=frozenset({"day"}))
    present = struct(id=IntegerType(), price=IntegerType())
    found = struct(
        id=DoubleType(), price=DoubleType(), day=StringType(), _corrupt_record=StringType(), ok=LongType()
    )
    merge = merge_schemas(present, found, rules)
    assert merge.schema == struct(id=IntegerType(), price=IntegerType(), ok=LongType())
    assert [(change.kind, change.column) for change in merge.changes] == [("refused", "id"), ("added", "ok")]
    assert merge.accepted == merge.changes[1:]
    assert merge_schemas(present, struct(id=LongType()), rules).schema["id"].dataType == LongType()

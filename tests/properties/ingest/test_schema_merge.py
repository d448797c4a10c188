"""Laws of merging schemas: nothing is lost, nothing is narrowed, order does not matter."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
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
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.ingest.evolution.schema_merge import MergeRules, compare_schemas, merge_schemas

RULES = st.builds(MergeRules, is_text=st.booleans(), keys=st.sampled_from([frozenset(), frozenset({"a"})]))
NUMBERS = st.sampled_from([ShortType(), IntegerType(), LongType(), FloatType(), DoubleType()])
LEAVES = st.one_of(
    NUMBERS,
    st.sampled_from([StringType(), BooleanType(), DateType(), TimestampType()]),
    st.builds(DecimalType, st.integers(10, 38), st.integers(0, 10)),
)


def build_structs(kinds: st.SearchStrategy[DataType]) -> st.SearchStrategy[StructType]:
    names = st.lists(st.sampled_from(["a", "A", "b", "B", "c", "long name"]), unique_by=str.lower, max_size=4)
    return names.flatmap(
        lambda chosen: st.tuples(*(kinds for _ in chosen)).map(
            lambda found: StructType([StructField(n, k) for n, k in zip(chosen, found, strict=True)])
        )
    )


def build_schemas(leaves: st.SearchStrategy[DataType]) -> st.SearchStrategy[StructType]:
    kinds = st.recursive(
        leaves,
        lambda inside: st.one_of(
            inside.map(ArrayType),
            inside.map(lambda kind: MapType(StringType(), kind)),
            build_structs(inside),
        ),
        max_leaves=4,
    )
    return build_structs(kinds)


SCHEMAS = build_schemas(LEAVES)


def iter_leaves(kind: DataType, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(kind, StructType):
        for field in kind:
            yield from iter_leaves(field.dataType, f"{path}.{field.name.lower()}")
    elif isinstance(kind, ArrayType):
        yield from iter_leaves(kind.elementType, f"{path}[]")
    elif isinstance(kind, MapType):
        yield from iter_leaves(kind.valueType, f"{path}{{}}")
    else:
        yield path, kind.simpleString()


@given(SCHEMAS, RULES)
def test_merging_a_schema_with_itself_changes_nothing(schema, rules):
    merge = merge_schemas(schema, schema, rules)
    assert (merge.schema, merge.changes) == (schema, ())


@given(SCHEMAS, SCHEMAS, RULES)
def test_merging_again_changes_nothing_more(present, found, rules):
    once = merge_schemas(present, found, rules)
    twice = merge_schemas(once.schema, found, rules)
    assert twice.schema == once.schema
    assert twice.accepted == ()


@given(SCHEMAS, SCHEMAS, RULES)
def test_no_column_is_lost_moved_or_narrowed(present, found, rules):
    merged = merge_schemas(present, found, rules).schema
    assert merged.fieldNames()[: len(present)] == present.fieldNames()
    assert {path for path, _ in iter_leaves(present)} <= {path for path, _ in iter_leaves(merged)}
    # What was there before asks for nothing: it fits.
    assert merge_schemas(merged, present, rules).accepted == ()


@given(SCHEMAS, SCHEMAS, RULES)
def test_changes_are_reported(present, found, rules):
    merge = merge_schemas(present, found, rules)
    assert set(compare_schemas(present, merge.schema)) == set(merge.accepted)
    assert bool(merge.accepted) == (merge.schema != present)


@given(st.lists(build_schemas(NUMBERS), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_numbers_do_not_depend_on_the_order_of_objects(schemas, random):
    shuffled = list(schemas)
    random.shuffle(shuffled)
    results = []
    for order in (schemas, shuffled):
        merged, refused = order[0], False
        for found in order[1:]:
            merge = merge_schemas(merged, found, MergeRules())
            merged, refused = merge.schema, refused or len(merge.accepted) < len(merge.changes)
        results.append((refused, sorted(iter_leaves(merged))))
    if not any(refused for refused, _ in results):
        assert results[0] == results[1]

import pytest
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from headwater.ingest.misfits.json_misfit import find_json_misfit

SCHEMA = (
    StructType()
    .add("id", LongType())
    .add("small", IntegerType())
    .add("price", DoubleType())
    .add("exact", DecimalType(5, 2))
    .add("ok", BooleanType())
    .add("name", StringType())
    .add("at", TimestampType())
    .add("Tags", ArrayType(LongType()))
    .add("by_key", MapType(StringType(), DoubleType()))
    .add("who", StructType().add("age", IntegerType()))
)


@pytest.mark.parametrize(
    ("text", "misfit"),
    [
        ('{"id": "x1"}', 'id is "x1", and its column has numbers (long)'),
        ('{"id": 1.5}', "id is 1.5, and its column has whole numbers (long)"),
        ('{"id": 9223372036854775808}', "id is 9223372036854775808, which is out of the range of long"),
        ('{"small": -2147483649}', "small is -2147483649, which is out of the range of integer"),
        ('{"price": 1e400}', "price is 1e400, which is out of the range of double"),
        ('{"id": 3, "amount":', "its JSON ends too early"),
        ('{"id": 3, "name": "a', "its JSON ends too early"),
        ('{"id": 3 \n', "its JSON ends too early"),
        ('{"price": true}', "price is true, and its column has numbers (double)"),
        ('{"exact": 1000.00}', "exact is 1000.00, which is out of the range of decimal(5,2)"),
        ('{"ok": "yes"}', 'ok is "yes", and its column is boolean'),
        ('{"at": [1]}', "at is [1], and its column is timestamp"),
        ('{"tags": [1, null, "a"]}', 'tags[2] is "a", and its column has numbers (long)'),
        ('{"Tags": {"a": 1}}', 'Tags is {"a": 1}, and its column is an array'),
        ('{"by_key": {"k": [1]}}', "by_key['k'] is [1], and its column is double"),
        ('{"by_key": 1}', "by_key is 1, and its column is a map"),
        ('{"who": {"age": {}}}', "who.age is {}, and its column is integer"),
        ('{"who": 5}', "who is 5, and its column is a struct"),
        ('{"ok": 1, "price": []}', "price is [], and its column is double"),
        ('{"id": "5"}', 'id is "5", and its column has numbers (long)'),
        ('{"price": "1.5"}', 'price is "1.5", and its column has numbers (double)'),
        ('{"price": "inf"}', 'price is "inf", and its column has numbers (double)'),
        ('{"exact": "a"}', 'exact is "a", and its column has numbers (decimal(5,2))'),
        ('{"ok": "' + "x" * 100 + '"}', f'ok is "{"x" * 39}..., and its column is boolean'),
    ],
)
def test_the_first_field_that_fits_in_no_case_is_named(text: str, misfit: str) -> None:
    found = find_json_misfit(text, SCHEMA.jsonValue())
    assert found is not None
    assert found.describe() == misfit


@pytest.mark.parametrize(
    ("text", "misfit"),
    [
        (
            '{"id": "5", "PRICE": "1.5", "exact": "a"}',
            'exact is "a", and its column has numbers (decimal(5,2))',
        ),
        ('{"id": "5", "small": "7"}', 'small is "7", and its column has numbers (integer)'),
        ('{"id": "5.5"}', 'id is "5.5", and its column has whole numbers (long)'),
        ('{"id": "x"}', 'id is "x", and its column has numbers (long)'),
        ('{"Price": "1e400"}', 'Price is "1e400", which is out of the range of double'),
        ('{"price": "nan"}', 'price is "nan", and its column has numbers (double)'),
    ],
)
def test_a_column_of_numbers_in_quotes_is_blamed_only_for_other_texts(text: str, misfit: str) -> None:
    found = find_json_misfit(text, SCHEMA.jsonValue(), {"id", "price"})
    assert found is not None
    assert found.describe() == misfit


def test_a_text_that_outlives_the_record_names_no_value() -> None:
    found = find_json_misfit('{"id": "a secret"}', SCHEMA.jsonValue())
    assert found is not None
    assert found.describe_without_value() == "id has another value, and its column has numbers (long)"


@pytest.mark.parametrize(
    "text",
    [
        '{"id": 1, "price": "NaN", "exact": "1.5", "ok": false, "at": "noon"}',
        '{"name": {"a": 1}, "Tags": [null]}',
        '{"id": null, "who": null, "unknown": [{}], "by_key": {}, "price": NaN}',
        "{'id': 'a'}",
        '{"who": "a blob?"}',
        '{"id": 1} {"id": 2}',
        "[1, 2]",
        "1,2,3",
        "",
        '{"a":' * 100_000,
        '{"id": ' + "9" * 5_000 + "}",
    ],
)
def test_what_may_fit_or_is_no_json_is_not_explained(text: str) -> None:
    assert find_json_misfit(text, SCHEMA.jsonValue()) is None

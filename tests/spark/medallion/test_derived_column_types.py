"""Vectors and blobs go from table to table."""

import pytest

from headwater.errors import TransformError
from tests.fixtures.medallion.medallion_lake import MedallionLake

pytestmark = pytest.mark.long

TYPES = {"embedding": "vector(2)"}
PRODUCTS = {"path": "*.json", "mode": "mirror", "columns": TYPES | {"picture": "blob"}}
DOUBLED = {
    "from": "products",
    "columns": TYPES,
    "transform": [
        {"sql": "select _headwater_source, id, transform(embedding, x -> x * 2) as embedding from input"}
    ],
}


def hudi_type(lake, name, column):
    return lake.table(name).read().schema[column].metadata.get("hudi_type")


@pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])
def test_tables_that_follow_one_with_vectors_have_them_too(spark, tmp_path, table_type):
    kind = {"table_type": table_type}
    lake = MedallionLake(
        spark, tmp_path, products=PRODUCTS | kind, same={"from": "products"} | kind, doubled=DOUBLED | kind
    )
    lake.put_rows("1.json", [{"id": 1, "embedding": [1, 0], "picture": "YWI="}, {"id": 2}])
    lake.flow()
    lake.put_rows("1.json", [{"id": 1, "embedding": [0.5, 0]}, {"id": 3, "embedding": [0, 1]}])
    lake.flow()
    assert lake.rows("same", "id", "embedding") == [(1, [0.5, 0]), (3, [0, 1])]
    assert lake.rows("doubled", "id", "embedding") == [(1, [1, 0]), (3, [0, 2])]
    assert hudi_type(lake, "same", "embedding") == hudi_type(lake, "doubled", "embedding") == "VECTOR(2)"
    assert hudi_type(lake, "same", "picture") == "BLOB"


def test_transform_with_incompatible_vectors_stops_only_its_table(spark, tmp_path):
    short = [{"sql": "select _headwater_source, id, slice(embedding, 1, id) as embedding from input"}]
    lake = MedallionLake(spark, tmp_path, products=PRODUCTS, cut=DOUBLED | {"transform": short})
    lake.put_rows("1.json", [{"id": 1, "embedding": [1, 0]}, {"id": 2, "embedding": [1, 0]}])
    lake.ingest("products")
    with pytest.raises(TransformError, match="1 rows have vectors that do not match `columns`: one has"):
        lake.follow("cut")
    assert not lake.table("cut").load_timeline().exists()

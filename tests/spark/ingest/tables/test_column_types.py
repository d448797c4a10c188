"""Vectors and blobs of a table: declared, kept through every write, searched and read; and bad ones."""

import base64
import json
from datetime import datetime, timezone

import numpy as np
import pyarrow as pa
import pytest

from headwater.app import App
from headwater.app.objects.verify import Verify
from headwater.errors import ConfigError, TableMismatchError, TableUnsupportedError, UsageError
from headwater.lake import find_address, inspection, queries, writes
from headwater.lake.layout import table_path
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.deletion import delete_rows
from headwater.lake.sql.engine import run_query
from headwater.lake.sql.spark import run_on_spark
from tests.fixtures.folder_lake import FolderLake
from tests.fixtures.written_files import write_parquet

pytestmark = pytest.mark.slow

PRODUCTS = {"path": "*.json", "record_key": "id", "columns": {"embedding": "vector(4)"}}
UNIT = np.eye(4)


def product(number, embedding, **more):
    return json.dumps({"id": number, "embedding": embedding, **more}) + "\n"


def hudi_type(lake, name, column):
    return lake.table(name).read().schema[column].metadata.get("hudi_type")


def read_here(lake, name, *columns):
    """Without a JVM."""
    table = queries.read(find_address(lake.settings, name), queries.Query.snapshot(), list(columns))
    return sorted(zip(*table.to_pydict().values(), strict=True))


@pytest.mark.long
@pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])
def test_vectors_stay_vectors_through_updates_new_columns_compaction_and_deletes(build, table_type):
    compaction = {"compact_after": 3, "column_stats": True} if table_type == "merge_on_read" else {}
    table = PRODUCTS | {"table_type": table_type} | compaction
    lake = build(products=table)
    lake.put("1.json", product(1, [1, 0, 0, 0]) + product(2, None))
    lake.ingest("products")
    lake.put("2.json", product(1, [0.5, 0.5, 0, 0], color="red") + product(3, [0, 0, 0, 1.25]))
    lake.ingest("products")
    lake.put("3.json", product(4, [0, 1, 0, 0]))
    lake.ingest("products")
    address = find_address(lake.settings, "products")
    assert delete_rows(ServiceTable(lake.table("products").spark, address), "id = 4").rows == 1
    expected = [(1, [0.5, 0.5, 0, 0]), (2, None), (3, [0, 0, 0, 1.25])]
    assert lake.rows("products", "id", "embedding") == expected
    assert read_here(lake, "products", "id", "embedding") == expected
    assert lake.rows("products", "color") == [(None,), (None,), ("red",)]
    assert hudi_type(lake, "products", "embedding") == "VECTOR(4)"
    assert lake.quarantine("reason") == []


@pytest.fixture(scope="module")
def shop(spark, tmp_path_factory):
    """150 rows with random vectors, of which some have changed; bad ones beside them."""
    lake = FolderLake(
        spark,
        tmp_path_factory.mktemp("shop"),
        products={
            "path": "*.json",
            "record_key": "id",
            "table_type": "merge_on_read",
            "columns": {"embedding": "vector(16)", "picture": "blob"},
        },
    )
    numbers = np.random.default_rng(7).standard_normal((150, 16))
    pictures = [bytes([0, 255, at]) * (at + 1) for at in range(150)]

    def write(key, rows, vectors):
        lines = [
            product(at, vectors[at].tolist(), picture=base64.b64encode(pictures[at]).decode()) for at in rows
        ]
        bad = [
            product(900, [1.0] * 15),
            product(901, [1.0] * 15 + [None]),
            product(902, [1e300] * 16),
            product(903, "none"),
            product(904, [1.0] * 16, picture="no base64!"),
        ]
        lake.put(key, "".join(lines + (bad if key == "1.json" else [])))
        lake.ingest("products")

    write("1.json", range(150), -numbers)
    write("2.json", range(50, 150), numbers)
    numbers[:50] *= -1
    return lake, numbers.astype(np.float32), pictures


def rank(vectors, query, metric):
    """Distances by the definition, and the rows' numbers, nearest first."""
    query = np.asarray(query, np.float64)
    vectors = vectors.astype(np.float64)
    if metric == "l2":
        distances = np.linalg.norm(vectors - query, axis=1)
    elif metric == "dot":
        distances = -vectors @ query
    else:
        distances = 1 - vectors @ query / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(query))
    order = np.argsort(distances, kind="stable")
    return order, distances[order]


@pytest.mark.parametrize("metric", ["cosine", "l2", "dot"])
def test_search_results_equal_those_of_numpy(spark, shop, metric):
    lake, vectors, _ = shop
    query = np.random.default_rng(8).standard_normal(16).astype(np.float32)
    frame = queries.search_vectors(
        spark, table_path(lake.lake, "products"), "embedding", query.tolist(), k=12, metric=metric
    )
    found = [(row["id"], row["_hudi_distance"]) for row in frame.collect()]
    order, distances = rank(vectors, query, metric)
    assert [number for number, _ in found] == order[:12].tolist()
    assert [distance for _, distance in found] == pytest.approx(distances[:12].tolist(), abs=1e-5)


def test_bad_vectors_are_quarantined_and_other_rows_kept(shop):
    lake, vectors, _ = shop
    found, unfit = lake.quarantine("line", "reason", "detail"), "does not fit the table's columns"
    assert found == [
        (151, "bad_vector", "line 151 has 15 numbers in embedding; a vector(16) has 16"),
        (152, "bad_vector", "line 152 has a null, NaN or infinite number in embedding"),
        (153, "bad_vector", "line 153 has a null, NaN or infinite number in embedding"),
        (154, "unparsable", f'line 154 {unfit}: embedding is "none", and its column is an array'),
        (155, "unparsable", f"line 155 {unfit}"),
    ]
    rows = lake.rows("products", "id", "embedding")
    assert [number for number, _ in rows] == list(range(150))
    assert np.array_equal(np.array([vector for _, vector in rows], np.float32), vectors)


def test_blobs_are_the_bytes_that_came(spark, shop):
    lake, _, pictures = shop
    path = table_path(lake.lake, "products")
    found = queries.read_blobs(spark, path, "picture").select("id", "picture").collect()
    assert {row["id"]: bytes(row["picture"]) for row in found} == dict(enumerate(pictures))
    (one,) = queries.read_blobs(spark, path, "picture", where="id = 77").collect()
    assert bytes(one["picture"]) == pictures[77]
    assert hudi_type(lake, "products", "picture") == "BLOB"


def test_sql_leaves_hudis_functions_to_spark(spark, shop):
    lake, vectors, pictures = shop
    tables = {"products": table_path(lake.lake, "products")}
    text = ", ".join(map(str, vectors[5].tolist()))
    searched = (
        "select p.id, round(n._hudi_distance, 4) as distance, read_blob(p.picture) as picture "
        f"from hudi_vector_search('PRODUCTS', 'embedding', array({text}), 1, 'l2') n "
        "join products p on p.id = n.id"
    )
    result = run_query(searched, tables, fallback=lambda sql, named: run_on_spark(spark, sql, named))
    assert result.engine == "spark"
    assert list(result.rows) == [{"id": 5, "distance": 0.0, "picture": pictures[5]}]


def test_a_table_with_blobs_in_log_files_is_left_to_spark(spark, shop):
    lake, vectors, pictures = shop
    tables = {"products": table_path(lake.lake, "products")}

    def ask(column):
        sql = f"select {column} from products where id = 120"
        found = run_query(sql, tables, fallback=lambda text, named: run_on_spark(spark, text, named))
        return found.engine, next(found.rows)[column]

    assert ask("embedding") == ("spark", vectors[120].tolist())
    blob = {"type": "INLINE", "data": pictures[120], "reference": None}
    assert ask("picture") == ("spark", blob)
    with pytest.raises(TableUnsupportedError, match="blobs of column picture are stored in log files"):
        read_here(lake, "products", "id", "embedding")


def test_describe_names_the_types(shop):
    lake, _, _ = shop
    reported = inspection.describe(find_address(lake.settings, "products"), datetime.now(timezone.utc))
    types = {column.name: column.type for column in reported.columns}
    assert (types["id"], types["embedding"], types["picture"]) == ("bigint", "vector(16)", "blob")


def test_verify_finds_the_rows_equal_to_their_objects(spark, shop):
    lake, _, _ = shop
    report = Verify(App(lake.settings, spark=spark), deep=1).run().tables["products"]
    assert report.problems == []
    assert report.deep is not None
    assert report.deep.objects == 2


@pytest.mark.parametrize(
    ("column", "vector", "more", "expected_message"),
    [
        ("embedding", [1.0] * 15, {}, "the vector has 15 numbers, but embedding is vector\\(16\\)"),
        ("embedding", [float("nan")] * 16, {}, "NaN or infinite"),
        ("embedding", [1.0] * 16, {"k": 0}, "0 nearest rows"),
        ("embedding", [1.0] * 16, {"metric": "manhattan"}, "unknown metric 'manhattan'"),
        ("id", [1.0], {}, "id is not a vector, but bigint"),
        ("embeding", [1.0], {}, "there is no column embeding"),
    ],
)
def test_unsearchable_columns_are_rejected(spark, shop, column, vector, more, expected_message):
    lake, _, _ = shop
    with pytest.raises(UsageError, match=expected_message):
        queries.search_vectors(spark, table_path(lake.lake, "products"), column, vector, **more)


def test_no_blob_no_bytes(spark, shop):
    lake, _, _ = shop
    with pytest.raises(UsageError, match="embedding is not a blob, but array<float>") as caught:
        queries.read_blobs(spark, table_path(lake.lake, "products"), "embedding")
    assert caught.value.hint == "blobs of the table: picture"
    with pytest.raises(UsageError, match=r"^SQL: .*nope"):
        queries.read_blobs(spark, table_path(lake.lake, "products"), "picture", where="nope = 1")


def test_files_are_blobs_of_a_mirror(spark, build):
    files = {"path": "*.png", "format": "binary", "mode": "mirror", "columns": {"content": "blob"}}
    lake = build(pictures=files)
    first, second = bytes(range(256)) * 40, b"\x89PNG"
    lake.put_many([("a.png", first), ("b.png", b"old"), ("c.png", b"gone")])
    lake.ingest("pictures")
    lake.put("b.png", second)
    (lake.source / "c.png").unlink()
    lake.announce("c.png", kind="removed")
    lake.ingest("pictures")
    found = queries.read_blobs(spark, table_path(lake.lake, "pictures"), "content").collect()
    assert sorted((row["length"], bytes(row["content"])) for row in found) == [(4, second), (10240, first)]


@pytest.mark.parametrize("large", [{}, {"large_file_bytes": 100}])
def test_parquet_with_lists_of_a_fixed_size(build, large):
    lake = build(t={"path": "*.parquet", "columns": {"e": "vector(4, double)"}} | large)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(UNIT.ravel(), pa.float64()), 4)
    lake.put("1.parquet", write_parquet({"id": [0, 1, 2, 3], "e": lists}))
    floats = pa.array([[0.5] * 4, [0.5] * 3], pa.list_(pa.float32()))
    lake.put("2.parquet", write_parquet({"id": [4, 5], "e": floats}))
    lake.ingest("t")
    assert lake.rows("t", "id", "e") == [*enumerate(UNIT.tolist()), (4, [0.5] * 4)]
    assert hudi_type(lake, "t", "e") == "VECTOR(4, DOUBLE)"
    assert [reason for (reason,) in lake.quarantine("reason")] == ["bad_vector"]
    assert read_here(lake, "t", "id", "e") == lake.rows("t", "id", "e")


def test_transform_converts_text_to_vectors_and_blobs(spark, build):
    step = "select _headwater_source, id, from_json(e, 'array<double>') as e, unbase64(b) as b from input"
    columns = {"columns": {"e": "vector(2)", "b": "blob"}}
    lake = build(t={"path": "*.csv", "options": {"header": True}, "transform": [{"sql": step}]} | columns)
    lake.put("1.csv", 'id,e,b\n1,"[1, 2.5]",YWI=\n2,"[1]",YWI=\n3,,\n')
    lake.ingest("t")
    assert lake.rows("t", "id", "e") == [(1, [1.0, 2.5]), (3, None)]
    found = queries.read_blobs(spark, table_path(lake.lake, "t"), "b").orderBy("id").collect()
    assert [row["b"] and bytes(row["b"]) for row in found] == [b"ab", None]
    assert lake.quarantine("line", "reason") == [(3, "bad_vector")]


def test_a_column_of_another_type_is_reported(build):
    lake = build(products=PRODUCTS)
    lake.put("1.json", product(1, [1, 0, 0, 0]))
    lake.ingest("products")
    lake.change("products", columns={"embedding": "vector(5)"})
    lake.put("2.json", product(2, [1, 0, 0, 0, 0]))
    with pytest.raises(
        TableMismatchError, match=r"embedding is vector\(4\) in the table, but vector\(5\) in"
    ):
        lake.ingest("products")
    lake.change("products", columns={})
    with pytest.raises(TableMismatchError, match="column embedding is a vector in the table, but") as caught:
        lake.ingest("products")
    assert caught.value.hint.startswith("declare it in the table's `columns`")
    lake.change("products", columns={"embedding": "vector(4)"}, schema_hints="embedding string")
    with pytest.raises(ConfigError, match="'embedding' is string, and a vector is made of an array of"):
        lake.ingest("products")


@pytest.mark.long
def test_rows_from_python_are_vectors_too(spark, build):
    lake = build(products=PRODUCTS)
    lake.put("1.json", product(1, [1, 0, 0, 0]))
    lake.ingest("products")
    frame = spark.createDataFrame([(2, [0.0, 1.0, 0.0, 0.0])], "id bigint, embedding array<double>")
    writes.write(lake.settings, "products", frame, "upsert")
    assert lake.rows("products", "id", "embedding") == [(1, [1, 0, 0, 0]), (2, [0, 1, 0, 0])]
    assert hudi_type(lake, "products", "embedding") == "VECTOR(4)"
    short = spark.createDataFrame([(3, [0.0])], "id bigint, embedding array<double>")
    with pytest.raises(
        UsageError, match="1 rows do not fit the columns of table products: one has 1 numbers in embedding"
    ):
        writes.write(lake.settings, "products", short, "upsert")

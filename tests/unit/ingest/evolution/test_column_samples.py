"""What a fetch tells of columns that the table does not have, and what it keeps of them."""

import io
import json
import uuid
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.ingest.evolution.schema_sample import SchemaSample, is_other, parse_schema_sample
from headwater.ingest.fetching.object_fetch import FetchPlan, fetch_objects
from headwater.sources.memory.object_store import load_memory_store
from headwater.sources.object_store import ObjectStoreConfig

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def write_parquet(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def fetch(format_name: str, data: bytes | str, **plan: Any) -> list[dict[str, Any]]:
    """The rows of one object, its outcome last."""
    config = ObjectStoreConfig("memory", name=uuid.uuid4().hex)
    state = load_memory_store(config.name).put("b", "k", data.encode() if isinstance(data, str) else data)
    request = {"object_index": 0, "provider": "memory", "bucket": "b", "key": "k", "size": state.size}
    request |= {"version_id": state.version_id, "etag": state.etag}
    asked = FetchPlan(
        max_record_bytes=2**20,
        store=config,
        format=format_name,
        options={"header": "true"} if format_name == "csv" else {},
        columns=tuple(SCHEMA.names),
        arrow_schema=SCHEMA.serialize().to_pybytes(),
        max_object_bytes=10**6,
        **plan,
    )
    return [
        row
        for batch in fetch_objects([pa.RecordBatch.from_pylist([request])], asked)
        for row in batch.to_pylist()
    ]


def find_sample(format_name: str, data: bytes | str, **plan: Any) -> SchemaSample | None:
    text = fetch(format_name, data, reports=True, **plan)[-1]["outcome"]["schema_sample"]
    return parse_schema_sample(text) if text else None


@pytest.mark.parametrize(
    ("format_name", "data"),
    [
        ("json", '{"id": 1, "name": "x"}\n{"NAME": "y"}\n'),
        ("json_array", '[{"id": 1}]'),
        ("csv", "NAME,id\nx,1\n"),
        ("xml", "<all><ROW><id>1</id></ROW></all>"),
        ("parquet", write_parquet(id=[1], Name=["x"])),
    ],
)
def test_object_with_known_columns_reports_nothing(format_name, data):
    assert find_sample(format_name, data) is None


def test_nothing_is_compared_without_a_consumer():
    rows = fetch("json", '{"id": 1, "new": 2, "NAME": "y"}')
    assert rows[0]["value"] == '{"id": 1, "new": 2, "NAME": "y"}'
    assert "rescued" not in rows[0]
    assert rows[-1]["outcome"]["schema_sample"] is None


@pytest.mark.parametrize(
    ("format_name", "data", "sample"),
    [
        ("json", '{"id": 1, "new": 2}\n{"id": 2}', SchemaSample(records=('{"new":2}',))),
        ("json_array", '[{"new": "x"}]', SchemaSample(records=('{"new":"x"}',))),
        ("csv", "id,new\n1,2\n", SchemaSample(names=("id", "new"), records=("1,2",))),
        (
            "xml",
            "<all><ROW><id>1</id><new>2</new></ROW></all>",
            SchemaSample(records=('{"id": 1, "new": 2}',)),
        ),
    ],
)
def test_object_with_other_columns_gives_records_to_infer_them_from(format_name, data, sample):
    assert find_sample(format_name, data) == sample


def test_object_with_other_types_reports_them_even_if_rejected():
    data = write_parquet(id=["word"], extra=pa.array([1], pa.uint8()))
    rows = fetch("parquet", data, reports=True)
    assert rows[-1]["outcome"]["reason"] == "schema"
    assert find_sample("parquet", data) == SchemaSample(
        columns=pa.schema([("id", pa.string()), ("extra", pa.int16())])
    )


@pytest.mark.parametrize(
    ("format_name", "data", "expected"),
    [
        ("json", '{"id": 1, "new": 2.10}\n{"id": 2}', [{"new": 2.1}, None]),
        ("csv", 'id,new,also\n1,"a,b",\n2,,\n3\n', [{"new": "a,b"}, None, None]),
        ("xml", "<all><ROW><id>1</id><new>2</new></ROW><ROW/></all>", [{"new": "2"}, None]),
        (
            "parquet",
            write_parquet(id=["word", None], extra=[b"x", None]),
            [{"extra": "eA==", "id": "word"}, None],
        ),
    ],
)
def test_values_without_column_are_kept_with_the_row(format_name, data, expected):
    rows = fetch(format_name, data, rescues=True)
    assert [row["rescued"] and json.loads(row["rescued"]) for row in rows[:-1]] == expected
    assert rows[-1]["outcome"]["status"] == "read"
    assert rows[-1]["outcome"]["schema_sample"] is None


def test_columns_from_elsewhere_are_not_new():
    assert find_sample("json", '{"day": 1}', ignored=("day",)) is None
    assert find_sample("csv", "id,day\n1,2\n", ignored=("day",)) is None
    assert find_sample("parquet", write_parquet(id=[1], day=[2]), ignored=("day",)) is None


def test_difference_counts_names_and_types_or_names_only():
    known = pa.schema([("a", pa.int64()), ("s", pa.struct([("x", pa.int64())])), ("gone", pa.string())])
    wider = pa.schema([("A", pa.float64()), ("s", pa.struct([("x", pa.int64())]))])
    deeper = pa.schema([("s", pa.struct([("x", pa.int64()), ("y", pa.int64())]))])
    assert [is_other(wider, known), is_other(wider, known, names_only=True)] == [True, False]
    assert is_other(deeper, known, names_only=True)
    assert not is_other(deeper, known, ["s"])

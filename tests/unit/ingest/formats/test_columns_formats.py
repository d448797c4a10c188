import contextlib
import datetime as dt
import io
import uuid
from collections.abc import Callable
from decimal import Decimal

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from headwater.errors import ConfigError, ObjectSchemaError, ObjectTooLargeError, ObjectUnreadableError
from headwater.ingest.formats import (
    ColumnsFormat,
    ObjectData,
    infer_arrow_schema,
    load_format,
    open_parts,
    sample_lines,
)
from headwater.ingest.formats.reader_options import ReaderOptions

TABLE = pa.table({"id": pa.array([1, 2, None], pa.int64()), "name": ["a", None, "ü"]})
NO_OPTIONS = ReaderOptions({})


def write_parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def write_orc(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    orc.write_table(table, sink)
    return sink.getvalue()


def write_avro(fields: list[object], records: list[dict[str, object]], codec: str = "deflate") -> bytes:
    sink = io.BytesIO()
    fastavro.writer(sink, {"type": "record", "name": "r", "fields": fields}, records, codec=codec)
    return sink.getvalue()


def write_avro_table(table: pa.Table) -> bytes:
    kinds = {"id": "long", "name": "string"}
    fields: list[object] = [{"name": n, "type": ["null", kinds[n]]} for n in table.column_names]
    return write_avro(fields, table.to_pylist())


def read(name: str, data: bytes, max_bytes: int = 10**9) -> pa.Table:
    found = load_format(name)
    assert isinstance(found, ColumnsFormat)
    return found.read_table(ObjectData("s3a://b/k", data), NO_OPTIONS, max_bytes)


WRITERS = [("parquet", write_parquet), ("orc", write_orc), ("avro", write_avro_table)]
EVERY = pytest.mark.parametrize(("name", "write"), WRITERS, ids=[name for name, _ in WRITERS])
Write = Callable[[pa.Table], bytes]


@EVERY
def test_rows_and_types_come_back(name: str, write: Write) -> None:
    assert read(name, write(TABLE)).cast(TABLE.schema).equals(TABLE)
    assert infer_arrow_schema(write(TABLE), "k", name, {}).equals(TABLE.schema)


@EVERY
def test_no_rows_are_no_error(name: str, write: Write) -> None:
    assert read(name, write(TABLE.slice(0, 0))).num_rows == 0


@EVERY
def test_every_truncation_is_refused(name: str, write: Write) -> None:
    data = write(TABLE)
    # Avro has no footer: the bare header is a whole file without records.
    whole = {data.index(data[-16:]) + 16} if name == "avro" else set()
    for length in set(range(len(data))) - whole:
        with pytest.raises(ObjectUnreadableError, match="s3a://b/k is not readable"):
            read(name, data[:length])


@EVERY
def test_other_bytes_are_refused(name: str, write: Write) -> None:
    for data in (b'{"a": 1}\n', b"\0" * 100, bytes(range(256)) * 4, write(TABLE)[::-1]):
        with pytest.raises(ObjectUnreadableError):
            read(name, data)
        with pytest.raises(ObjectUnreadableError):
            infer_arrow_schema(data, "k", name, {})


@EVERY
def test_corruption_in_the_middle_is_an_object_error_or_other_values(name: str, write: Write) -> None:
    data = bytearray(write(TABLE))
    for position in range(0, len(data), 3):
        damaged = bytearray(data)
        damaged[position] ^= 0xFF
        with contextlib.suppress(ObjectUnreadableError, ObjectSchemaError, ObjectTooLargeError):
            read(name, bytes(damaged))


@pytest.mark.parametrize("year", [1, 1677, 2263, 9999])
def test_an_orc_timestamp_that_nanoseconds_do_not_reach_is_refused_with_a_way_out(year: int) -> None:
    data = write_orc(pa.table({"at": pa.array([None, dt.datetime(year, 1, 1)], pa.timestamp("us"))}))
    with pytest.raises(ObjectUnreadableError, match="write such a column as a date, or the file as Parquet"):
        read("orc", data)


@pytest.mark.parametrize("year", [1678, 1969, 2261])
def test_other_orc_timestamps_come_back(year: int) -> None:
    at = dt.datetime(year, 12, 31, 23, 59, 59, 999999)
    found = read("orc", write_orc(pa.table({"at": pa.array([at], pa.timestamp("us"))})))
    assert found["at"].cast(pa.timestamp("us")).to_pylist() == [at]


def test_a_parquet_bomb_is_not_unpacked() -> None:
    data = write_parquet(pa.table({"a": pa.array([bytes(1000)] * 1000)}))
    with pytest.raises(ObjectTooLargeError, match="bytes uncompressed"):
        read("parquet", data, max_bytes=100)


def test_schema_is_inferred_in_types_that_spark_has() -> None:
    table = pa.table(
        {
            "u": pa.array([1], pa.uint32()),
            "d": pa.array(["a"]).dictionary_encode(),
            "t": pa.array([1], pa.timestamp("ns")),
            "z": pa.array([1], pa.timestamp("ms", tz="Europe/Berlin")),
            "l": pa.array([["a"]], pa.large_list(pa.large_string())),
            "s": pa.array([{"x": dt.time(1)}], pa.struct([("x", pa.time64("us"))])),
        }
    )
    assert infer_arrow_schema(write_parquet(table), "k", "parquet", {}) == pa.schema(
        [
            ("u", pa.int64()),
            ("d", pa.string()),
            ("t", pa.timestamp("us")),
            ("z", pa.timestamp("us", tz="UTC")),
            ("l", pa.list_(pa.string())),
            ("s", pa.struct([("x", pa.string())])),
        ]
    )


def test_file_without_columns_has_no_columns() -> None:
    empty = write_parquet(pa.table({"a": [1]}).select([]))
    assert infer_arrow_schema(empty, "k", "parquet", {}) == pa.schema([])


class TestAvro:
    def test_logical_types(self) -> None:
        when = dt.datetime(2024, 1, 2, 3, 4, 5, 678000, tzinfo=dt.timezone.utc)
        record: dict[str, object] = {
            "day": dt.date(2024, 1, 2),
            "at": when,
            "local": when.replace(tzinfo=None),
            "price": Decimal("12.30"),
            "id": uuid.UUID(int=1),
            "clock": dt.time(1, 2, 3),
        }
        fields: list[object] = [
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
            {
                "name": "price",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            },
            {"name": "id", "type": ["null", {"type": "string", "logicalType": "uuid"}]},
            {"name": "clock", "type": {"type": "long", "logicalType": "time-micros"}},
        ]
        table = read("avro", write_avro(fields, [record]))
        assert table.to_pylist() == [record | {"id": str(uuid.UUID(int=1))}]
        assert table.schema.field("price").type == pa.decimal128(9, 2)
        assert table.schema.field("at").type == pa.timestamp("ms", tz="UTC")
        assert table.schema.field("local").type == pa.timestamp("us")

    def test_nested_types_and_named_references(self) -> None:
        point = {"type": "record", "name": "point", "fields": [{"name": "x", "type": ["int", "long"]}]}
        fields: list[object] = [
            {"name": "a", "type": point},
            {"name": "b", "type": {"type": "array", "items": "point"}},
            {"name": "c", "type": ["null", {"type": "map", "values": "point"}]},
            {"name": "d", "type": {"type": "enum", "name": "e", "symbols": ["A", "B"]}},
            {"name": "f", "type": {"type": "fixed", "name": "two", "size": 2}},
        ]
        record: dict[str, object] = {
            "a": {"x": 1},
            "b": [{"x": 2**40}],
            "c": {"k": {"x": 3}},
            "d": "B",
            "f": b"ab",
        }
        table = read("avro", write_avro(fields, [record, record | {"c": None}]))
        assert table.to_pylist()[0] == record | {"c": [("k", {"x": 3})]}
        assert table.to_pylist()[1]["c"] is None

    @pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz", "zstandard", "snappy"])
    def test_codecs(self, codec: str) -> None:
        assert read("avro", write_avro([{"name": "a", "type": "int"}], [{"a": 1}], codec)).num_rows == 1

    def test_a_container_of_plain_values_has_one_column(self) -> None:
        sink = io.BytesIO()
        fastavro.writer(sink, "string", ["a", "b"])
        assert read("avro", sink.getvalue()).to_pydict() == {"value": ["a", "b"]}

    def test_types_that_no_table_has_become_texts(self) -> None:
        digits = {"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 2}
        fields: list[object] = [
            {"name": "union", "type": ["int", "string", "null"]},
            {"name": "numbers", "type": ["null", "int", "double"]},
            {"name": "digits", "type": ["null", digits]},
            {"name": "none", "type": ["null"]},
        ]
        rows: list[dict[str, object]] = [
            {"union": 1, "numbers": 1, "digits": Decimal("1" * 45 + ".25"), "none": None},
            {"union": "x", "numbers": 1.5, "digits": Decimal("1E+3"), "none": None},
            {"union": None, "numbers": None, "digits": None, "none": None},
        ]
        assert read("avro", write_avro(fields, rows)).to_pydict() == {
            "union": ["1", '"x"', None],
            "numbers": [1.0, 1.5, None],
            "digits": ["1" * 45 + ".25", "1000.00", None],
            "none": [None, None, None],
        }

    def test_type_that_no_table_has_is_named(self) -> None:
        loop = [{"name": "next", "type": ["null", "r"]}]
        with pytest.raises(ObjectSchemaError, match="contains itself"):
            read("avro", write_avro(list(loop), [{"next": None}]))


def test_binary_is_the_object_as_it_is() -> None:
    when = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
    data = b"\x1f\x8b whatever"
    (source,) = open_parts(ObjectData("s3a://b/x.gz", data, when), "binary", ReaderOptions({}))
    found = load_format("binary")
    assert isinstance(found, ColumnsFormat)
    assert found.read_table(source, NO_OPTIONS, 10).to_pylist() == [
        {"path": "s3a://b/x.gz", "modificationTime": when, "length": len(data), "content": data}
    ]


def test_each_kind_of_format_has_its_own_inference() -> None:
    with pytest.raises(ConfigError, match="sample_lines"):
        infer_arrow_schema(b"", "k", "json", {})
    with pytest.raises(ConfigError, match="infer_arrow_schema"):
        sample_lines(b"", "k", "parquet", {})
    with pytest.raises(ConfigError, match="does not exist"):
        load_format("exe")

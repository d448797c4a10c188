"""Binary records become JSON texts; bytes that are no record are marked, and the others are read."""

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headwater.config.table.schema_source import SchemaConfig
from headwater.errors import ConfigError, ObjectSchemaError
from headwater.ingest.formats import ColumnsFormat, LinesFormat, ObjectData, Target, load_format
from headwater.ingest.formats.binary_records.files import list_columns, read_schema
from headwater.ingest.formats.binary_records.record_schema import SCHEMA_OPTION
from headwater.ingest.formats.markers import BAD_RECORD, MARKER
from headwater.ingest.formats.reader_options import ReaderOptions
from tests.fixtures.binary_records import SHOP, build_class, delimit, encode_avro, prefix
from tests.fixtures.written_files import write_avro

ORDER: dict[str, Any] = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"], "default": None},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "raw", "type": "bytes"},
        {"name": "rate", "type": "double"},
        {"name": "attrs", "type": {"type": "map", "values": "long"}},
        {"name": "items", "type": {"type": "array", "items": {
            "type": "record", "name": "Item", "fields": [{"name": "sku", "type": "string"}]}}},
    ],
}  # fmt: skip
RECORD = {
    "id": 2**62 + 1,
    "name": "ü\n",
    "price": Decimal("12.30"),
    "at": dt.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=dt.timezone.utc),
    "local": dt.datetime(1969, 12, 31, 23, 59, 59, 999000),
    "day": dt.date(2026, 5, 6),
    "state": "PAID",
    "raw": b"\x00\xff",
    "rate": float("inf"),
    "attrs": {"a": 1},
    "items": [{"sku": "x"}],
}
TEXT = {
    **{"id": 2**62 + 1, "name": "ü\n", "price": "12.30", "at": "2026-01-02T03:04:05.678901+00:00"},
    **{"local": "1969-12-31T23:59:59.999000+00:00", "day": "2026-05-06", "state": "PAID", "raw": "AP8="},
    **{"rate": float("inf"), "attrs": {"a": 1}, "items": [{"sku": "x"}]},
}


def avro_options(folder: Path, schema: object = ORDER, **options: str) -> ReaderOptions:
    (folder / "order.avsc").write_text(json.dumps(schema))
    found = read_schema(SchemaConfig.model_validate({"file": str(folder / "order.avsc")}))
    return ReaderOptions({SCHEMA_OPTION: found.to_option(), **options})


def protobuf_options(message: str = "shop.Order", **options: str) -> ReaderOptions:
    found = read_schema(SchemaConfig.model_validate({"file": str(SHOP), "message": message}))
    return ReaderOptions({SCHEMA_OPTION: found.to_option(), **options})


def read(name: str, data: bytes, options: ReaderOptions) -> list[Any]:
    """Parsed texts, and marked ones as they are."""
    found = load_format(name)
    assert isinstance(found, LinesFormat)
    lines = found.read_lines(ObjectData("s3://b/k", data), options, Target())
    assert list(lines.row_numbers) == list(range(1, len(lines.texts) + 1))
    return [text if text.startswith(MARKER) else json.loads(text) for text in lines.texts]


@pytest.mark.parametrize(
    ("framing", "write"),
    [("delimited", delimit), ("Length_Prefixed", prefix), ("single", lambda records: records[0])],
)
def test_records_of_avro_keep_their_values(tmp_path: Path, framing: str, write: Any) -> None:
    records = [encode_avro(ORDER, RECORD)] * (1 if framing == "single" else 300)
    options = avro_options(tmp_path, framing=framing)
    assert read("avro_records", write(records), options) == [TEXT] * len(records)


def test_every_truncation_loses_only_the_last_record(tmp_path: Path) -> None:
    options, record = avro_options(tmp_path), encode_avro(ORDER, RECORD)
    for framing, write, head in (("delimited", delimit, 1), ("length_prefixed", prefix, 4)):
        options = options.replace(framing=framing)
        first, data = len(write([record])), write([record, record])
        for length in range(first + 1, len(data)):
            found = read("avro_records", data[:length], options)
            assert found[0] == TEXT
            assert len(found) == 2
            assert found[1].startswith(BAD_RECORD)
            why = "truncated length" if length < first + head else f"record of {len(record)} bytes"
            assert why in found[1]
            assert f"at byte {first}" in found[1]


def test_corrupt_records_are_marked_and_the_others_are_read(tmp_path: Path) -> None:
    options, good = avro_options(tmp_path), encode_avro(ORDER, RECORD)
    found = read("avro_records", delimit([good, good[:-3], good + b"\0", b"", good]), options)
    assert [found[0], found[4]] == [TEXT, TEXT]
    assert all(text.startswith(BAD_RECORD) for text in found[1:4])
    assert "1 bytes after the record" in found[2]


def test_a_value_without_a_place_in_its_column_spoils_no_other_record(tmp_path: Path) -> None:
    def build(precision: int) -> dict[str, Any]:
        decimal = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": 2}
        fields = [{"name": "t", "type": ["int", "string"]}, {"name": "d", "type": decimal}]
        return {"type": "record", "name": "r", "fields": fields}

    records = [encode_avro(build(9), {"t": 1, "d": Decimal(n)}) for n in ("1.25", "12345.25")]
    found = read("avro_records", delimit(records), avro_options(tmp_path, build(3)))
    assert found[0] == {"t": "1", "d": "1.25"}
    assert found[1].startswith(BAD_RECORD)


def test_messages_of_protobuf_keep_their_values() -> None:
    message = build_class("shop.Order")(
        id=-(2**62), big=2**64 - 1, small=2**32 - 1, price=0.1, rate=0.5, ok=True, name="ü", raw=b"\xff",
        state=1, tags=["a", "b"], items={7: {"sku": "x", "n": 1}}, first={"sku": "y"}, cash=0,
        at={"seconds": -1, "nanos": 999_999_999}, took={"seconds": -1, "nanos": -500_000_000},
        wrapped={"value": 0}, all=[{"n": 1}, {}], money={"units": 3, "currency": "EUR"},
    )  # fmt: skip
    message.extra.update({"a": [1, None]})
    (found,) = read("protobuf", delimit([message.SerializeToString()]), protobuf_options())
    assert json.loads(found.pop("extra")) == {"a": [1, None]}
    assert found == {
        **{"id": -(2**62), "big": str(2**64 - 1), "small": 2**32 - 1, "price": 0.1, "rate": 0.5, "ok": True},
        **{"name": "ü", "raw": "/w==", "state": "PAID", "maybe": None, "tags": ["a", "b"]},
        **{"items": {"7": {"sku": "x", "n": 1}}, "first": {"sku": "y", "n": 0}, "card": None, "cash": 0},
        **{"at": "1969-12-31T23:59:59.999999+00:00", "took": "PT-1.5S", "wrapped": 0},
        **{"all": [{"sku": "", "n": 1}, {"sku": "", "n": 0}], "money": {"units": 3, "currency": "EUR"}},
    }


def test_absent_fields_are_null_if_the_schema_tells_them_from_defaults() -> None:
    (found,) = read("protobuf", b"", protobuf_options(framing="single"))
    nulls = {name for name, value in found.items() if value is None}
    assert nulls == {"maybe", "first", "card", "cash", "at", "took", "wrapped", "extra", "money"}
    assert (found["id"], found["name"], found["state"], found["tags"], found["items"]) == (
        0,
        "",
        "NEW",
        [],
        {},
    )


def test_fields_and_values_of_a_newer_writer_do_no_harm() -> None:
    message = build_class("shop.Order")(id=1, state=9).SerializeToString() + b"\xf2\x7f\x03new"
    (found,) = read("protobuf", delimit([message]), protobuf_options())
    assert (found["id"], found["state"]) == (1, "9")
    assert "new" not in json.dumps(found)


def test_corrupt_messages_are_marked() -> None:
    good = build_class("shop.Order")(id=1).SerializeToString()
    late = build_class("shop.Order")(at={"seconds": 10**15}).SerializeToString()
    not_text = b"\x3a\x01\xff"
    found = read(
        "protobuf", delimit([good, b"\xff", late, not_text, good]) + b"\xff" * 11, protobuf_options()
    )
    assert [text["id"] for text in (found[0], found[4])] == [1, 1]
    assert all(text.startswith(f"{BAD_RECORD}no message shop.Order") for text in found[1:4])
    assert "length of more than 10 bytes" in found[5]
    assert len(found) == 6


def test_columns_have_the_nearest_types() -> None:
    config = SchemaConfig.model_validate({"file": str(SHOP), "message": "shop.Order"})
    columns = list_columns(read_schema(config))
    types = {field.name: str(field.type) for field in columns}
    assert types["big"] == "decimal128(20, 0)"
    assert types["small"] == "int64"
    assert types["at"] == "timestamp[us, tz=UTC]"
    assert types["items"].startswith("map<string, struct<sku: string, n: int32>")
    assert types["state"] == types["took"] == types["extra"] == "string"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a schema of Avro"),
        ('{"type": "record", "fields": []}', "not a schema of Avro"),
        (
            '{"type": "record", "name": "r", "fields": [{"name": "a", "type": "x.Nothing"}]}',
            r"the type x\.Nothing is not defined",
        ),
        ('{"type": "record", "name": "r", "fields": []}', "has no fields"),
        (
            '{"type": "record", "name": "r", "fields": [{"name": "r", "type": ["null", "r"]}]}',
            "record r contains itself",
        ),
    ],
)
def test_schemas_of_avro_that_cannot_be_used_are_explained(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "a.avsc"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        list_columns(read_schema(SchemaConfig.model_validate({"file": str(file)})))
    assert caught.value.message.startswith(str(file))
    assert caught.value.hint


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("shop.Nothing", "no message type 'shop.Nothing'; its message types: .*shop.Order, shop.Other"),
        ("shop.Node", "message shop.Node contains itself"),
    ],
)
def test_message_types_that_cannot_be_used_are_explained(message: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text) as caught:
        list_columns(read_schema(SchemaConfig.model_validate({"file": str(SHOP), "message": message})))
    assert caught.value.hint


@pytest.mark.parametrize(("data", "text"), [(b"", "without files"), (b"\xff", "not a FileDescriptorSet")])
def test_files_that_are_no_descriptors_are_explained(tmp_path: Path, data: bytes, text: str) -> None:
    (tmp_path / "a.desc").write_bytes(data)
    config = SchemaConfig.model_validate({"file": str(tmp_path / "a.desc"), "message": "a.B"})
    with pytest.raises(ConfigError, match=text) as caught:
        list_columns(read_schema(config))
    assert "protoc --include_imports" in (caught.value.hint or "")


def test_a_descriptor_without_its_imports_is_explained(tmp_path: Path) -> None:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    files = FileDescriptorSet.FromString(SHOP.read_bytes())
    del files.file[:-1]
    (tmp_path / "a.desc").write_bytes(files.SerializeToString())
    config = SchemaConfig.model_validate({"file": str(tmp_path / "a.desc"), "message": "shop.Order"})
    with pytest.raises(ConfigError, match=r"shop\.proto imports common\.proto, which is not in it"):
        list_columns(read_schema(config))


def test_a_missing_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a\.avsc: cannot read the schema: No such file"):
        read_schema(SchemaConfig.model_validate({"file": str(tmp_path / "a.avsc")}))


def test_containers_are_resolved_to_the_schema_of_the_table(tmp_path: Path) -> None:
    old = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "n", "type": "int"}, {"name": "x", "type": "int"}],
    }
    number = {"name": "number", "aliases": ["n"], "type": "long"}
    fields = [number, {"name": "y", "type": "string", "default": "none"}]
    new = {"type": "record", "name": "r", "fields": fields}
    found = load_format("avro")
    assert isinstance(found, ColumnsFormat)
    source = ObjectData("s3://b/k", write_avro(old, [{"n": 1, "x": 2}]))
    table = found.read_table(source, avro_options(tmp_path, new), 10**6)
    assert table.to_pydict() == {"number": [1], "y": ["none"]}
    assert table.schema.field("number").type == pa.int64()
    other = {**new, "fields": [{"name": "z", "type": "int"}]}
    with pytest.raises(ObjectSchemaError, match=r"s3://b/k has a schema that does not resolve"):
        found.read_table(source, avro_options(tmp_path, other), 10**6)

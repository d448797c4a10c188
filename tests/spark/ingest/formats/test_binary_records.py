"""Tables of protobuf and of Avro without containers: values, bad records, and columns from schemas."""

import datetime as dt
import gzip
import json
from decimal import Decimal

import pytest

from headwater.errors import ConfigError, RegistryUnavailableError
from tests.fixtures.binary_records import SHOP, build_class, delimit, encode_avro, frame_confluent, prefix
from tests.fixtures.folder_lake import FolderLake
from tests.fixtures.servers.schema_registry import run_registry
from tests.fixtures.written_files import write_avro, write_zip

pytestmark = pytest.mark.slow

ORDER = {"type": "record", "name": "shop.Order", "fields": [
    {"name": "id", "type": "long"},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "raw", "type": "bytes"},
    {"name": "rate", "type": "double"},
    {"name": "tags", "type": {"type": "array", "items": "string"}},
    {"name": "attrs", "type": {"type": "map", "values": "long"}},
]}  # fmt: skip
AT = dt.datetime(1900, 2, 3, 4, 5, 6, 789012, tzinfo=dt.timezone.utc)


def build_order(number):
    return {
        **{"id": 2**62 + number, "price": Decimal("0.10"), "at": AT, "day": dt.date(1600, 2, 29)},
        **{"raw": b"\x00\xff", "rate": float("-inf"), "tags": ["a"], "attrs": {"k": 2**53 + 1}},
    }


@pytest.fixture
def order_file(tmp_path):
    (tmp_path / "order.avsc").write_text(json.dumps(ORDER))
    return {"file": str(tmp_path / "order.avsc")}


def test_records_of_avro_become_typed_rows(spark, tmp_path, order_file):
    lake = FolderLake(spark, tmp_path, t={
        "path": "**", "format": "avro_records", "schema": order_file, "record_key": "id", "ordering": "at",
        "options": {"framing": "length_prefixed"},
    })  # fmt: skip
    records = [encode_avro(ORDER, build_order(number)) for number in range(3)]
    lake.put("a", prefix(records[:1]))
    lake.put("b.zip", write_zip({"1": gzip.compress(prefix(records[1:]))}))
    lake.ingest("t")
    columns = ("id", "price", "at", "day", "raw", "rate", "tags", "attrs")
    rows = lake.rows("t", *columns)
    assert [row[0] for row in rows] == [2**62, 2**62 + 1, 2**62 + 2]
    assert rows[0][1:] == (
        Decimal("0.10"), AT.replace(tzinfo=None), dt.date(1600, 2, 29), b"\x00\xff", float("-inf"), ["a"],
        {"k": 2**53 + 1},
    )  # fmt: skip
    types = {field.name: field.dataType.simpleString() for field in lake.table("t").read().schema}
    assert (types["price"], types["at"], types["attrs"]) == (
        "decimal(12,2)",
        "timestamp",
        "map<string,bigint>",
    )


def test_bad_messages_are_quarantined_with_their_number_and_bytes(spark, tmp_path):
    lake = FolderLake(spark, tmp_path, t={
        "path": "*.pb", "format": "protobuf", "schema": {"file": str(SHOP), "message": "shop.Order"},
        "mode": "mirror",
    })  # fmt: skip
    good = [
        build_class("shop.Order")(
            id=n, big=2**64 - 1, at={"seconds": 1}, items={1: {"sku": "x"}}
        ).SerializeToString()
        for n in range(4)
    ]
    lake.put("a.pb", delimit([*good[:3], b"\xff"]) + b"\x7f" + good[3])
    lake.ingest("t")
    assert lake.rows("t", "id", "big", "items", "_headwater_row") == [
        (n, Decimal(2**64 - 1), {"1": ("x", 0)}, n + 1) for n in range(3)
    ]
    bad = lake.quarantine_of("t", "key", "level", "reason", "line")
    assert bad == [("a.pb", "record", "bad_record", 4), ("a.pb", "record", "bad_record", 5)]
    (first, second) = lake.quarantine_of("t", "payload")
    assert "no message shop.Order" in first[0]
    assert first[0].endswith(": /w==")
    assert f"record of 127 bytes at byte {sum(len(one) + 1 for one in good[:3]) + 2}" in second[0]

    lake.put("a.pb", delimit(good))
    lake.ingest("t")
    assert lake.rows("t", "id") == [(0,), (1,), (2,), (3,)]


def test_an_object_without_any_record_of_the_schema_is_quarantined(spark, tmp_path, order_file):
    plan = {"path": "*", "format": "avro_records", "schema": order_file}
    lake = FolderLake(spark, tmp_path, t=plan)
    lake.put("a", b"\xff" * 20)
    lake.put("b", delimit([encode_avro(ORDER, build_order(1))]))
    lake.ingest("t")
    assert lake.rows("t", "id") == [(2**62 + 1,)]
    assert lake.quarantine_of("t", "key", "level") == [("a", "object")]


def test_a_file_with_a_schema_gives_the_columns_of_any_format(spark, tmp_path, order_file):
    hints = {"schema_hints": "rate string"}
    lake = FolderLake(
        spark,
        tmp_path,
        j={"path": "*.json", "schema": order_file},
        h={"path": "*.json", "schema": order_file, **hints},
        c={"path": "*.avro", "schema": order_file},
    )
    lake.put("a.json", '{"id": 1, "price": 1.10, "at": "2026-01-01T00:00:00Z", "more": 1}\n')
    lake.put("a.avro", write_avro(ORDER, [build_order(1)]))
    for name in ("j", "h", "c"):
        lake.ingest(name)
    assert lake.rows("j", "id", "price", "rate", "tags") == [(1, Decimal("1.10"), None, None)]
    assert dict(lake.table("h").read().dtypes)["rate"] == "string"
    assert lake.rows("c", "id", "price") == [(2**62 + 1, Decimal("0.10"))]
    assert "more" not in lake.table("j").read().columns


def test_a_schema_with_a_further_field_adds_its_column(spark, tmp_path, order_file):
    lake = FolderLake(spark, tmp_path, t={"path": "*", "format": "avro_records", "schema": order_file})
    lake.put("a", delimit([encode_avro(ORDER, build_order(1))]))
    lake.ingest("t")
    wider = {
        **ORDER,
        "fields": [*ORDER["fields"], {"name": "more", "type": ["null", "int"], "default": None}],
    }
    (tmp_path / "order.avsc").write_text(json.dumps(wider))
    lake.put("b", delimit([encode_avro(wider, {**build_order(2), "more": 5})]))
    lake.ingest("t")
    assert lake.rows("t", "id", "more") == [(2**62 + 1, None), (2**62 + 2, 5)]


def test_a_schema_that_cannot_be_read_stops_the_table(spark, tmp_path):
    lake = FolderLake(spark, tmp_path, t={"path": "*.json", "schema": {"file": str(tmp_path / "no.avsc")}})
    lake.put("a.json", '{"id": 1}\n')
    with pytest.raises(ConfigError, match=r"no\.avsc: cannot read the schema"):
        lake.ingest("t")


@pytest.fixture
def registry():
    with run_registry() as found:
        yield found


def test_records_with_ids_of_schemas_are_read_across_outages(spark, tmp_path, registry):
    wider = {**ORDER, "fields": [*ORDER["fields"], {"name": "more", "type": "string", "default": "none"}]}
    old = registry.register_avro("orders-value", ORDER)
    new = registry.register_avro("orders-value", wider)
    lake = FolderLake(spark, tmp_path, t={
        "path": "*", "format": "avro_records", "options": {"confluent": "true"}, "mode": "mirror",
        "schema": {"registry": registry.url, "subject": "orders-value"},
    })  # fmt: skip
    good = encode_avro(ORDER, build_order(1))
    records = [
        frame_confluent(old, good),
        frame_confluent(77, good),
        frame_confluent(new, encode_avro(wider, {**build_order(2), "more": "x"})),
    ]
    lake.put("a", delimit(records))
    # The columns can be read, but not the schemas of the records.
    pipeline = lake.pipeline("t")
    registry.passing, registry.failures = 1, 1000
    with pytest.raises(RegistryUnavailableError, match="answers with status 503"):
        pipeline.run_batch()
    assert lake.quarantine_of("t", "key") == []

    registry.failures = 0
    lake.ingest("t")
    assert lake.rows("t", "id", "more") == [(2**62 + 1, "none"), (2**62 + 2, "x")]
    assert lake.quarantine_of("t", "reason", "line") == [("unknown_schema", 2)]
    ((payload,),) = lake.quarantine_of("t", "payload")
    assert payload.startswith("the registry has no schema with id 77: ")


def test_envelopes_in_records_of_avro_are_applied(spark, tmp_path):
    name = {"name": "name", "type": ["null", "string"], "default": None}
    row = {"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}, name]}
    envelope = {"type": "record", "name": "Envelope", "fields": [
        {"name": "before", "type": ["null", row], "default": None},
        {"name": "after", "type": ["null", "Row"], "default": None},
        {"name": "op", "type": "string"},
        {"name": "lsn", "type": "long"},
    ]}  # fmt: skip
    (tmp_path / "e.avsc").write_text(json.dumps(envelope))
    lake = FolderLake(spark, tmp_path, t={
        "path": "*", "format": "avro_records", "record_key": "id",
        "schema": {"file": str(tmp_path / "e.avsc")},
        "changes": {
            "op": "op", "insert": "c", "update": "u", "delete": "d", "sequence": "lsn", "before": "before",
            "after": "after",
        },
    })  # fmt: skip
    changes = [
        {"op": "c", "lsn": 1, "after": {"id": 1, "name": "a"}},
        {"op": "c", "lsn": 2, "after": {"id": 2, "name": "b"}},
        {"op": "u", "lsn": 3, "after": {"id": 1, "name": "c"}},
        {"op": "d", "lsn": 4, "before": {"id": 2, "name": "b"}},
    ]
    lake.put("a", delimit([encode_avro(envelope, change) for change in changes]))
    lake.ingest("t")
    assert lake.rows("t", "id", "name") == [(1, "c")]


VALUES = {"type": "record", "name": "v", "fields": [
    {"name": "n", "type": "int"},
    {"name": "d", "type": "double"},
    {"name": "f", "type": "float"},
    {"name": "s", "type": "string"},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "big", "type": {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 6}},
    {"name": "inner", "type": {"type": "record", "name": "i", "fields": [
        {"name": "s", "type": ["null", "string"]}, {"name": "t", "type": ["null", "long", "string"]}]}},
]}  # fmt: skip


def test_no_value_changes_on_the_way(spark, tmp_path):
    (tmp_path / "v.avsc").write_text(json.dumps(VALUES))
    lake = FolderLake(
        spark,
        tmp_path,
        t={"path": "*", "format": "avro_records", "schema": {"file": str(tmp_path / "v.avsc")}},
    )
    doubles = [1e300, 1e22, 5e-324, 1.7976931348623157e308, float(2**53 + 2), -0.0, 0.1, float("-inf"), 1e16]
    texts = ["1e400", "", "\0", "\uffff\ufdd0", "2024-01-01", "01", "\u2028'\"\\", "{}", "Infinity"]
    floats = [
        3.4028234663852886e38,
        1.401298464324817e-45,
        0.10000000149011612,
        16777216.0,
        1.0,
        -1.5,
        0.0,
        2.0,
        3.0,
    ]
    digits = [Decimal(10**31) + Decimal("0.000001"), *(Decimal(n) for n in range(8))]
    times = [
        dt.datetime(1, 1, 2, tzinfo=dt.timezone.utc),
        dt.datetime(9999, 12, 30, tzinfo=dt.timezone.utc),
        *[AT] * 7,
    ]
    rows = [
        {"n": n, "d": d, "s": s, "f": f, "big": big, "at": at, "inner": {"s": None, "t": n if n % 2 else s}}
        for n, (d, s, f, big, at) in enumerate(zip(doubles, texts, floats, digits, times, strict=True))
    ]
    lake.put("a", delimit([encode_avro(VALUES, row) for row in rows]))
    lake.ingest("t")
    assert lake.quarantine_of("t", "payload") == []
    found = lake.rows("t", "n", "d", "s", "f", "big", "at", "inner")
    assert [list(row[:5]) for row in found] == [[row[k] for k in ("n", "d", "s", "f", "big")] for row in rows]
    assert [row[5] for row in found] == [time.replace(tzinfo=None) for time in times]
    assert [tuple(row[6]) for row in found] == [
        (None, str(n) if n % 2 else json.dumps(texts[n])) for n in range(len(rows))
    ]

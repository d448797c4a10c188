"""Schemas of a registry, records that name them by their ids, and what is said when there are none."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from headwater.config.registry import read_authorization
from headwater.config.table.schema_source import SchemaConfig
from headwater.errors import ConfigError, RegistryUnavailableError
from headwater.ingest.formats import LinesFormat, ObjectData, Target, load_format
from headwater.ingest.formats.binary_records.faults import UnknownSchemaError
from headwater.ingest.formats.binary_records.files import list_columns, read_schema
from headwater.ingest.formats.binary_records.record_schema import REGISTRY_OPTION, SCHEMA_OPTION
from headwater.ingest.formats.binary_records.registry import SchemaRegistry
from headwater.ingest.formats.markers import BAD_RECORD, MARKER, UNKNOWN_SCHEMA
from headwater.ingest.formats.reader_options import ReaderOptions
from tests.fixtures.binary_records import SHOP, build_class, delimit, encode_avro, frame_confluent
from tests.fixtures.servers.schema_registry import FakeRegistry, run_registry

OLD: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "int"}, {"name": "x", "type": "int"}],
}
NEW: dict[str, Any] = {"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"}, {"name": "state", "type": "string", "default": "NEW"}]}  # fmt: skip


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with run_registry() as found:
        yield found


def register_shop(registry: FakeRegistry) -> int:
    """shop.proto, which refers to common.proto; files of Google come without a reference."""
    files = {file.name: file for file in FileDescriptorSet.FromString(SHOP.read_bytes()).file}
    registry.register_protobuf("common", files["common.proto"].SerializeToString())
    reference = {"name": "common.proto", "subject": "common", "version": 1}
    return registry.register_protobuf("shop-value", files["shop.proto"].SerializeToString(), [reference])


def read(registry: FakeRegistry, name: str, data: bytes, subject: str, **schema: Any) -> list[Any]:
    config = SchemaConfig.model_validate({"registry": registry.url, "subject": subject, **schema})
    options = {
        SCHEMA_OPTION: read_schema(config).to_option(),
        REGISTRY_OPTION: registry.url,
        "confluent": "true",
    }
    found = load_format(name)
    assert isinstance(found, LinesFormat)
    texts = found.read_lines(ObjectData("s3://b/k", data), ReaderOptions(options), Target()).texts
    return [text if text.startswith(MARKER) else json.loads(text) for text in texts]


def test_records_are_resolved_from_the_schema_of_their_id_to_that_of_the_table(
    registry: FakeRegistry,
) -> None:
    old, new = registry.register_avro("orders-value", OLD), registry.register_avro("orders-value", NEW)
    data = delimit(
        [
            frame_confluent(old, encode_avro(OLD, {"id": 1, "x": 2})),
            frame_confluent(new, encode_avro(NEW, {"id": 2, "state": "PAID"})),
        ]
    )
    assert read(registry, "avro_records", data, "orders-value") == [
        {"id": 1, "state": "NEW"},
        {"id": 2, "state": "PAID"},
    ]
    assert read(registry, "avro_records", data, "orders-value", version=1)[0] == {"id": 1, "x": 2}
    ids = [path for path in registry.requests if "/schemas/ids/" in path]
    assert len(ids) == len(set(ids))


def test_records_that_cannot_be_decoded_are_marked(registry: FakeRegistry) -> None:
    new = registry.register_avro("orders-value", NEW)
    other = registry.register_avro("other", {"type": "record", "name": "Order", "fields": []})
    shop = register_shop(registry)
    good = encode_avro(NEW, {"id": 2, "state": "PAID"})
    bad = [
        frame_confluent(99, good),
        good,
        b"\0\0",
        frame_confluent(new, good[:-1]),
        frame_confluent(other, b""),
        frame_confluent(shop, good),
    ]
    found = read(registry, "avro_records", delimit([*bad, frame_confluent(new, good)]), "orders-value")
    assert found[6] == {"id": 2, "state": "PAID"}
    assert found[0].startswith(f"{UNKNOWN_SCHEMA}the registry has no schema with id 99: ")
    assert all(text.startswith(BAD_RECORD) for text in found[1:6])
    assert "no header of Confluent's serializers: begins with 04 08 50 41 49" in found[1]
    assert "has type protobuf" in found[5]


def test_messages_of_protobuf_are_found_by_their_indexes(registry: FakeRegistry) -> None:
    number = register_shop(registry)
    order = build_class("shop.Order")(id=7, money={"units": 3}).SerializeToString()
    other = build_class("shop.Other")(x=5).SerializeToString()
    data = delimit(
        [
            frame_confluent(number, order, [0]),
            frame_confluent(number, other, [1]),
            frame_confluent(number, b"", [0, 0]),
            frame_confluent(number, b"", [9]),
        ]
    )
    first, second, nested, absent = read(registry, "protobuf", data, "shop-value")
    assert (first["id"], first["money"]["units"]) == (7, 3)
    assert "message type shop.Other; the table reads shop.Order" in second
    assert "message type shop.Order." in nested
    assert "has no message type at [9]" in absent
    assert read(registry, "protobuf", data, "shop-value", message="shop.Other")[1] == {"x": 5}


def test_references_of_avro_are_put_where_their_names_are_used(registry: FakeRegistry) -> None:
    geo = {"type": "record", "name": "Geo", "fields": [{"name": "lat", "type": "double"}]}
    address = {"type": "record", "name": "a.Address", "fields": [{"name": "geo", "type": ["null", "Geo"]}]}
    ship = {"name": "ship", "type": {"type": "array", "items": "a.Address"}}
    fields = [{"name": "bill", "type": "Address"}, ship]
    order = {"type": "record", "name": "Order", "namespace": "a", "fields": fields}
    registry.register_avro("geo", geo)
    registry.register_avro("address", address, [{"name": "Geo", "subject": "geo", "version": 1}])
    registry.register_avro("order", order, [{"name": "a.Address", "subject": "address", "version": 1}])
    found = SchemaRegistry(registry.url).find_version("order", None)
    bill = "struct<geo: struct<lat: double>>"
    assert [str(field.type) for field in list_columns(found)] == [bill, f"list<item: {bill}>"]
    # Also a schema to other readers of Avro.
    assert encode_avro(json.loads(found.text), {"bill": {"geo": {"lat": 1.0}}, "ship": []})


def test_outages_are_retried_and_then_reported_as_such(registry: FakeRegistry) -> None:
    registry.register_avro("orders-value", NEW)
    client = SchemaRegistry(registry.url)
    registry.failures = 2
    assert client.find_version("orders-value", 1).kind == "avro"
    registry.failures = 100
    with pytest.raises(RegistryUnavailableError, match="answers with status 503") as caught:
        client.find_by_id(1)
    assert caught.value.retryable
    registry.failures = 0
    assert client.find_by_id(1).kind == "avro"
    registry.failures = 100
    assert client.find_by_id(1).kind == "avro"


def test_a_registry_that_does_not_answer_is_named() -> None:
    with run_registry() as registry:
        url = registry.url
    with pytest.raises(RegistryUnavailableError, match=f"{url} does not answer"):
        SchemaRegistry(url, timeout=1).find_by_id(1)


@pytest.mark.parametrize(
    ("subject", "version", "text"),
    [
        ("none", None, "version latest of subject 'none' of .* does not exist"),
        ("orders-value", 3, "version 3 of subject 'orders-value' of .* does not exist"),
        ("json", None, "has type JSON, which is not supported. Allowed: AVRO, PROTOBUF"),
        ("text", None, "the registry does not support `format=serialized`"),
        ("broken", None, "refers to 'absent', which does not exist"),
    ],
)
def test_subjects_that_cannot_be_used_are_explained(
    registry: FakeRegistry, subject: str, version: int | None, text: str
) -> None:
    registry.register_avro("orders-value", NEW)
    registry.register_other("json", "JSON", "{}")
    registry.register_other("text", "PROTOBUF", 'syntax = "proto3"; message A { int32 x = 1; }')
    registry.register_avro("broken", NEW, [{"name": "A", "subject": "absent", "version": 1}])
    with pytest.raises(ConfigError, match=text) as caught:
        SchemaRegistry(registry.url).find_version(subject, version)
    assert caught.value.hint


def test_an_unknown_id_is_no_error_of_the_configuration(registry: FakeRegistry) -> None:
    with pytest.raises(UnknownSchemaError, match="no schema with id 5"):
        SchemaRegistry(registry.url).find_by_id(5)


def test_an_unknown_id_is_asked_for_again_after_a_minute(registry: FakeRegistry) -> None:
    now = [0.0]
    client = SchemaRegistry(registry.url, now=lambda: now[0])
    for now[0] in (0, 1, 59):
        with pytest.raises(UnknownSchemaError, match="no schema with id 1"):
            client.find_by_id(1)
    assert len(registry.requests) == 1
    registry.register_avro("orders-value", NEW)
    now[0] = 61
    assert client.find_by_id(1).kind == "avro"


def test_a_schema_that_no_table_can_use_spoils_only_its_records(registry: FakeRegistry) -> None:
    new = registry.register_avro("orders-value", NEW)
    fields = [*NEW["fields"], {"name": "next", "type": ["null", "Order"], "default": None}]
    recursive = registry.register_avro("other", {**NEW, "fields": fields})
    json_schema = registry.register_other("json", "JSON", "{}")
    broken = registry.register_avro("broken", NEW, [{"name": "A", "subject": "absent", "version": 1}])
    good = encode_avro(NEW, {"id": 2, "state": "PAID"})
    frames = [(recursive, good + b"\0"), (json_schema, good), (broken, good), (new, good)]
    data = delimit([frame_confluent(number, record) for number, record in frames])
    found = read(registry, "avro_records", data, "orders-value")
    assert found[0] == found[3] == {"id": 2, "state": "PAID"}
    assert all(text.startswith(UNKNOWN_SCHEMA) for text in found[1:3])
    assert "has type JSON" in found[1]
    assert "refers to 'absent'" in found[2]


def test_credentials_come_from_the_environment(registry: FakeRegistry) -> None:
    registry.register_avro("orders-value", NEW)
    registry.authorization = "Basic dTpw"
    with pytest.raises(ConfigError, match="status 401") as caught:
        SchemaRegistry(registry.url).find_version("orders-value", None)
    assert "HEADWATER_REGISTRY_USER and HEADWATER_REGISTRY_PASSWORD" in (caught.value.hint or "")
    given = read_authorization({"HEADWATER_REGISTRY_USER": "u", "HEADWATER_REGISTRY_PASSWORD": "p"})
    assert SchemaRegistry(registry.url, given).find_version("orders-value", None).kind == "avro"
    assert read_authorization({"HEADWATER_REGISTRY_TOKEN": "abc"}) == "Bearer abc"
    assert read_authorization({}) == ""


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({"HEADWATER_REGISTRY_USER": "u"}, "HEADWATER_REGISTRY_PASSWORD is not set"),
        ({"HEADWATER_REGISTRY_PASSWORD": "p"}, "HEADWATER_REGISTRY_USER is not set"),
        (
            {
                "HEADWATER_REGISTRY_USER": "u",
                "HEADWATER_REGISTRY_PASSWORD": "p",
                "HEADWATER_REGISTRY_TOKEN": "t",
            },
            "are both set",
        ),
    ],
)
def test_half_of_the_credentials_is_an_error(environ: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        read_authorization(environ)

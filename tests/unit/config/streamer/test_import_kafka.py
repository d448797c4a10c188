"""Jobs of HoodieStreamer that read topics become tables of a source of Kafka."""

from pathlib import Path
from typing import Any

from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.config.source import KafkaSourceConfig
from headwater.config.streamer import Conversion, convert, read_jobs, render_conversion

SUBMIT = "spark-submit --class org.apache.hudi.utilities.streamer.HoodieStreamer bundle.jar"
CLASSES = "org.apache.hudi.utilities.sources"
KEY = {"hoodie.datasource.write.recordkey.field": "id"}


def write_job(source: str, table: str, properties: dict[str, str], flags: str = "") -> str:
    given = {
        "bootstrap.servers": "one:9092,two:9092",
        "hoodie.streamer.source.kafka.topic": table,
        **properties,
    }
    words = " ".join(f"--hoodie-conf {key}={value}" for key, value in given.items())
    return f"{SUBMIT} --source-class {CLASSES}.{source} --target-table {table} {flags} {words}\n"


def convert_text(tmp_path: Path, text: str) -> tuple[Conversion, Settings]:
    script = tmp_path / "run.sh"
    script.write_text(text)
    found = convert(read_jobs([script]))
    loaded = parse_settings(render_conversion(found, script.name), tmp_path / "headwater.yaml", environ={})
    return found, loaded


def find_reasons(found: Conversion) -> dict[str, str]:
    return {left.setting.partition("=")[0]: left.reason for left in found.left_out}


def test_topics_of_one_cluster_are_tables_of_one_source(tmp_path: Path) -> None:
    client = {"auto.offset.reset": "latest", "group.id": "streamer", "security.protocol": "SASL_SSL"}
    orders = write_job("JsonKafkaSource", "orders", {**KEY, **client}, "--source-ordering-field at")
    clicks = write_job("JsonKafkaSource", "clicks", {"hoodie.streamer.source.kafka.append.offsets": "true"})
    found, settings = convert_text(tmp_path, orders + clicks)
    source = settings.source
    assert isinstance(source, KafkaSourceConfig)
    assert source.bootstrap == ("one:9092", "two:9092")
    assert source.topics == ("orders", "clicks")
    assert (source.start_from, source.group) == ("latest", "streamer")
    assert source.options == {"security.protocol": "SASL_SSL"}
    assert settings.tables["orders"].path == ("orders/**",)
    assert settings.tables["orders"].ordering == ("at",)
    assert settings.tables["clicks"].message_columns == ("offset", "partition", "timestamp", "key")
    assert not find_reasons(found)


def test_messages_without_an_ordering_field_are_ordered_by_their_offset(tmp_path: Path) -> None:
    _, settings = convert_text(tmp_path, write_job("JsonKafkaSource", "orders", KEY))
    table = settings.tables["orders"]
    assert (table.ordering, table.message_columns) == (("_kafka_offset",), ("offset",))


def test_avro_and_protobuf_have_the_schemas_of_their_provider(tmp_path: Path) -> None:
    url = "http://registry:8081/subjects/orders-value/versions/latest"
    registry = {**KEY, "hoodie.streamer.schemaprovider.registry.url": url}
    flags = f"--schemaprovider-class {CLASSES}.SchemaRegistryProvider"
    _, settings = convert_text(tmp_path, write_job("AvroKafkaSource", "orders", registry, flags))
    table = settings.tables["orders"]
    assert (table.format, table.options) == ("avro_records", {"confluent": "true"})
    assert table.schema_ is not None
    assert table.schema_.subject == "orders-value"


def test_debezium_is_a_table_of_changes(tmp_path: Path) -> None:
    url = "http://registry:8081/subjects/orders-value/versions/3"
    given = {**KEY, "hoodie.streamer.schemaprovider.registry.url": url}
    payload = "--payload-class a.PostgresDebeziumAvroPayload"
    flags = f"--schemaprovider-class {CLASSES}.SchemaRegistryProvider {payload}"
    _, settings = convert_text(tmp_path, write_job("PostgresDebeziumSource", "orders", given, flags))
    changes = settings.tables["orders"].changes
    assert changes is not None
    assert changes.preset == "debezium"


def test_what_has_no_equivalent_has_a_reason(tmp_path: Path) -> None:
    given = {
        "hoodie.streamer.kafka.source.maxEvents": "5",
        "hoodie.streamer.source.kafka.enable.commit.offset": "true",
        "ssl.truststore.location": "/a.jks",
        "value.deserializer": "a.B",
        "sasl.jaas.config": "secret",
    }
    found, _ = convert_text(
        tmp_path, write_job("JsonKafkaSource", "orders", given, "--checkpoint orders,0:7")
    )
    reasons = find_reasons(found)
    assert set(reasons) >= {*given, "--checkpoint"}
    assert "ssl.ca.location" in reasons["ssl.truststore.location"]
    assert all("secret" not in left.setting for left in found.left_out)


def test_jobs_without_a_topic_and_of_another_cluster_have_a_reason(tmp_path: Path) -> None:
    other = write_job("JsonKafkaSource", "b", {"bootstrap.servers": "three:9092"})
    nameless = f"{SUBMIT} --source-class {CLASSES}.JsonKafkaSource --target-table c\n"
    found, settings = convert_text(tmp_path, write_job("JsonKafkaSource", "a", {}) + other + nameless)
    assert list(settings.tables) == ["a"]
    reasons: list[Any] = [left.reason for left in found.left_out]
    assert "a lake has one source, and another cluster is it already" in reasons
    assert "it names no `source.kafka.topic`" in reasons

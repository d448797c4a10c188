"""Converts what a job of HoodieStreamer says of Kafka: brokers, topic, offsets and the form of messages."""

from collections.abc import Mapping

from headwater.config.problems.problem import KeyPath
from headwater.config.streamer.draft import Draft
from headwater.config.streamer.rules import read_list
from headwater.config.streamer.settings_left import SettingsLeft

CLASSES: Mapping[str, str] = {
    "JsonKafkaSource": "json",
    "AvroKafkaSource": "avro_records",
    "ProtoKafkaSource": "protobuf",
    "MysqlDebeziumSource": "avro_records",
    "PostgresDebeziumSource": "avro_records",
}
"""Sources of topics, and the format of their messages."""

_DEBEZIUM = frozenset({"MysqlDebeziumSource", "PostgresDebeziumSource"})
_CONFLUENT = ("KafkaAvroDeserializer", "KafkaAvroSchemaDeserializer", "KafkaProtobufDeserializer")
_DESERIALIZERS = (
    "source.kafka.value.deserializer.class",
    "source.kafka.proto.value.deserializer.class",
)
_OPTIONS = ("security.protocol", "sasl.mechanism", "ssl.endpoint.identification.algorithm")
"""Settings of Kafka's Java client that librdkafka has, too, with the same values."""
_JAVA_ONLY: Mapping[str, str] = {
    "ssl.truststore.": "set `ssl.ca.location` in source.options, to a PEM file",
    "ssl.keystore.": "set `ssl.certificate.location` and `ssl.key.location` in source.options",
    "sasl.client.callback.handler.class": "see librdkafka's settings for OAuth, in source.options",
    "key.deserializer": "`message_columns: [key]` is the key as text",
    "value.deserializer": "`format` decides",
    "enable.auto.commit": "offsets are in the lake; `source.group` shows them to other tools",
    "max.poll.records": "a batch ends by max_files_per_trigger",
    "schema.registry.url": "see `schema` of the table",
}
_OF_KAFKA: Mapping[str, str] = {
    "kafka.source.maxEvents": "a batch ends by max_files_per_trigger, of ranges of max_messages_per_object",
    "source.kafka.minPartitions": "ranges are read in parallel; see max_messages_per_object",
    "source.kafka.checkpoint.type": "offsets are in the lake; see start_from of source",
    "source.kafka.enable.commit.offset": "set `source.group`",
    "source.kafka.fail.on.data.loss": "lost messages are in quarantine, and the others are read",
    "source.kafka.enable.failOnDataLoss": "lost messages are in quarantine, and the others are read",
}


def convert_topic(left: SettingsLeft, source: str, table: KeyPath) -> str:
    """Convert the topic of a job; return why it cannot be read, if so."""
    topic, brokers = left.take("source.kafka.topic"), _take(left, "bootstrap.servers")
    if topic is None or brokers is None:
        return "it names no `source.kafka.topic`" if topic is None else "it names no `bootstrap.servers`"
    draft = left.draft
    addresses = read_list(brokers[1])
    if draft.get(("source", "type")) not in (None, "kafka"):
        return f"a lake has one source, and {draft.get(('source', 'type'))} is it already"
    if draft.get(("source", "bootstrap")) not in (None, addresses):
        return "a lake has one source, and another cluster is it already"
    left.put(("source", "type"), "kafka", "--source-class", source)
    left.put(("source", "bootstrap"), addresses, *brokers)
    _add_topic(draft, *topic)
    left.put((*table, "path"), f"{topic[1]}/**", *topic)
    _convert_messages(left, source, table)
    _convert_client(left)
    return ""


def _add_topic(draft: Draft, setting: str, topic: str) -> None:
    """Add the topic to those of the source, which all jobs share."""
    section = draft.get_section(("source",))
    known = section.get("topics")
    topics = list(known) if isinstance(known, list) else []
    if topic not in topics:
        section["topics"] = [*topics, topic]
        draft.origins.setdefault(("source", "topics"), setting)


def _convert_messages(left: SettingsLeft, source: str, table: KeyPath) -> None:
    file_format = CLASSES[source]
    left.put((*table, "format"), file_format, "--source-class", source)
    given = left.take(*_DESERIALIZERS)
    # Without the setting, Avro is read by Confluent's deserializer, and protobuf without one.
    is_confluent = given[1].endswith(_CONFLUENT) if given else file_format == "avro_records"
    if is_confluent and file_format != "json":
        left.put((*table, "options", "confluent"), "true", *(given or ("--source-class", source)))
    if source in _DEBEZIUM:
        left.put((*table, "changes", "preset"), "debezium", "--source-class", source)
    appended = left.take("source.kafka.append.offsets")
    if appended and appended[1].lower() == "true":
        if source in _DEBEZIUM:
            left.leave_out(*appended, "`changes` has the columns of the database only")
        else:
            left.put((*table, "message_columns"), ["offset", "partition", "timestamp", "key"], *appended)
            left.draft.note(
                "columns of messages are named _kafka_offset and so on, not _hoodie_kafka_source_"
            )


def convert_order(left: SettingsLeft, table: KeyPath) -> None:
    """Order the messages of a key by their offset, if the job names no field for it."""
    draft, section = left.draft, left.draft.get_section(table)
    is_merged = draft.get((*table, "record_key")) is not None and section.get("mode") != "append"
    orders = ("ordering", "changes", "merge_mode")
    if is_merged and not any(name in section for name in orders):
        columns = section.get("message_columns")
        left.put((*table, "ordering"), ["_kafka_offset"], "", "")
        if not isinstance(columns, list):
            left.put((*table, "message_columns"), ["offset"], "", "")


def _convert_client(left: SettingsLeft) -> None:
    """Convert settings of Kafka's client, which have no prefix."""
    if (reset := _take(left, "auto.offset.reset")) is not None:
        if reset[1].lower() in ("latest", "earliest"):
            left.put(("source", "start_from"), reset[1].lower(), *reset)
        else:
            left.leave_out(*reset, "allowed are earliest and latest")
    if (group := _take(left, "group.id")) is not None:
        left.put(("source", "group"), group[1], *group)
    if (isolation := _take(left, "isolation.level")) is not None:
        left.put(("source", "isolation"), isolation[1].lower(), *isolation)
    else:
        left.draft.note("messages of open and aborted transactions are left out: see source.isolation")
    for name in _OPTIONS:
        if (option := _take(left, name)) is not None:
            left.put(("source", "options", name), option[1], *option)
    for key in list(left.properties):
        reason = next((text for begin, text in _JAVA_ONLY.items() if key.startswith(begin)), "")
        if reason:
            left.leave_out(key, left.properties.pop(key), reason)
    for name, reason in _OF_KAFKA.items():
        if (found := left.take(name)) is not None:
            left.leave_out(*found, reason)


def _take(left: SettingsLeft, name: str) -> tuple[str, str] | None:
    """Return a setting of Kafka's client, with its name."""
    text = left.properties.pop(name, None)
    return None if text is None else (name, text)

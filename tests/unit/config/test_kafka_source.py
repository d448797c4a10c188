"""`source: {type: kafka}` and the keys of its tables."""

from pathlib import Path
from typing import Any

import pytest

from headwater.config.loader import load_settings
from headwater.errors import ConfigError

TABLE = {"path": "orders/**", "format": "json"}


def load(tmp_path: Path, source: dict[str, Any] | None = None, **table: Any):
    import json

    given = {"type": "kafka", "bootstrap": "broker:9092", "topics": "orders", **(source or {})}
    path = tmp_path / "headwater.yaml"
    path.write_text(json.dumps({"source": given, "lake": "lake", "tables": {"orders": {**TABLE, **table}}}))
    return load_settings(path, {})


def test_the_cluster_is_named_by_its_brokers_unless_it_has_a_name(tmp_path: Path) -> None:
    settings = load(tmp_path, {"bootstrap": "one:9092, two:9092"})
    assert settings.source.known_location == "one:9092,two:9092"
    assert load(tmp_path, {"cluster": "production"}).source.known_location == "production"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"bootstrap": "broker"}, "'broker' is no address of a broker. Allowed: `host:port`"),
        ({"bootstrap": "http://broker:9092"}, "is no address of a broker"),
        ({"bootstrap": []}, "the list is empty"),
        ({"topics": []}, "the list is empty"),
        ({"topics": ["a/b"]}, "'a/b' is no name of a topic"),
        ({"topics": ["^a("]}, "'^a(' is no regular expression"),
        ({"topics": ["a", "a"]}, "'a' is listed twice"),
        ({"start_from": "begin"}, "Allowed: latest, earliest, or a time"),
        ({"options": {"group.id": "x"}}, "'group.id' is set by `group`; remove it"),
        ({"options": {"auto.offset.reset": "latest"}}, "is set by `start_from`"),
        ({"isolation": "committed"}, "Allowed: read_committed, read_uncommitted"),
        ({"prefix": "x"}, "source.prefix"),
    ],
    ids=str,
)
def test_a_wrong_source_is_explained(tmp_path: Path, source: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, source)
    assert expected in raised.value.message


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"format": "avro"}, "tables.orders.format: 'avro' is no format of a message; for Avro in messages"),
        ({"format": "parquet"}, "Allowed: json, csv, text, avro_records, protobuf"),
        ({"modified_after": "2026-01-01"}, "tables.orders.modified_after: not applicable"),
        (
            {"complete_when": {"folder": "orders/*", "marker": "_SUCCESS"}, "record_key": "id"},
            "tables.orders.complete_when: not applicable",
        ),
        ({"format": "csv", "options": {"header": True}}, "options.header: 'true' is not applicable"),
        ({"format": "csv", "message_columns": "key"}, "tables.orders.message_columns: not applicable"),
        ({"record_key": "id"}, "tables.orders.ordering: missing; name the field that orders messages"),
        ({"message_columns": "keys"}, "Allowed: topic, partition, offset, timestamp, key, headers"),
        (
            {"message_columns": "key", "record_key": "id", "changes": {"preset": "debezium"}},
            "tables.orders.message_columns: cannot be combined with `changes` of an envelope",
        ),
    ],
    ids=str,
)
def test_what_messages_do_not_have_is_an_error(tmp_path: Path, table: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, **table)
    assert expected in raised.value.message


@pytest.mark.parametrize(
    "table",
    [
        {"message_columns": "key"},
        {"record_key": "id", "changes": {"preset": "kafka"}},
        {"options": {"confluent": True}},
    ],
    ids=["message_columns", "preset", "confluent"],
)
def test_what_only_messages_have_is_an_error_for_files(tmp_path: Path, table: dict[str, Any]) -> None:
    source = {"type": "local", "path": "in", "bootstrap": None, "topics": None}
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, source, **table)
    assert "requires a source of `type: kafka`" in raised.value.message


def test_topics_of_one_cluster_are_one_source_and_a_table_takes_messages_or_objects(tmp_path: Path) -> None:
    import json

    cluster = {"type": "kafka", "bootstrap": "broker:9092", "topics": "a", "name": "one"}
    folder = {"type": "local", "path": "in", "name": "files"}

    def find_problems(sources: list[dict[str, Any]], **table: Any) -> str:
        path = tmp_path / "headwater.yaml"
        tables = {"orders": {"path": "**", "format": "json", **table}}
        path.write_text(json.dumps({"source": sources, "lake": "lake", "tables": tables}))
        try:
            load_settings(path, {})
        except ConfigError as error:
            return error.message
        return ""

    again = {**cluster, "name": "two", "topics": "b"}
    assert "list the topics of both in one source" in find_problems([cluster, again])
    assert "takes messages of Kafka and objects" in find_problems([cluster, folder])
    assert not find_problems([cluster, folder], source="one", message_columns="key")
    assert "requires a source of" in find_problems([cluster, folder], source="files", message_columns="key")


def test_a_password_in_the_file_is_an_error_that_names_the_environment(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, {"options": {"sasl.password": "hunter2"}})
    assert "secrets are not allowed in files" in raised.value.message
    assert "hunter2" not in raised.value.message

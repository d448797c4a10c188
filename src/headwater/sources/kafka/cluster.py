"""`Cluster`: what is asked of a Kafka cluster about its topics, with the client's settings."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from confluent_kafka import IsolationLevel, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin import OffsetSpec as _OffsetSpec  # type: ignore[attr-defined]

from headwater.config.environment import read_environment
from headwater.config.source.kafka import (
    KEY_PASSWORD_VARIABLE,
    PASSWORD_VARIABLE,
    PATTERN_MARK,
    USER_VARIABLE,
    KafkaSourceConfig,
)
from headwater.errors import SourceError
from headwater.sources.kafka.kafka_errors import LastError
from headwater.sources.kafka.ranges import Partition
from headwater.sources.kafka.topics import Offsets, Topic

REQUEST_SECONDS = 15.0
Settings = tuple[tuple[str, str], ...]
_INTERNAL = "__"


def build_settings(source: KafkaSourceConfig) -> Settings:
    """Return the settings of all clients of a source without secrets, which are sent to executors."""
    settings = {
        "bootstrap.servers": ",".join(source.bootstrap),
        "isolation.level": source.isolation,
        "client.id": "headwater",
        # Its own lines would go to standard error; failures are raised.
        "log_level": "2",
        **source.options,
    }
    return tuple(sorted(settings.items()))


def with_credentials(settings: Settings) -> dict[str, Any]:
    """Return the settings with the user and the password in the environment of this process."""
    environ = read_environment()
    found = {
        "sasl.username": environ.get(USER_VARIABLE),
        "sasl.password": environ.get(PASSWORD_VARIABLE),
        "ssl.key.password": environ.get(KEY_PASSWORD_VARIABLE),
    }
    return {**dict(settings), **{name: value for name, value in found.items() if value}}


class Cluster:
    """Requests about topics. Thread-safe. Every method raises `SourceError` or a subclass."""

    def __init__(self, settings: Settings) -> None:
        given = with_credentials(settings)
        self._name = given["bootstrap.servers"]
        is_committed = given.pop("isolation.level") == "read_committed"
        self._isolation = IsolationLevel.READ_COMMITTED if is_committed else IsolationLevel.READ_UNCOMMITTED
        self._last_error = LastError()
        self._has_answered = False
        with self._last_error.explained(f"Kafka at {self._name}"):
            client: dict[str, Any] = {**given, "error_cb": self._last_error.note}
            self._admin = AdminClient(client)

    def find_topics(self, wanted: Sequence[str]) -> list[str]:
        """Return the names of the wanted topics, in order; those that begin with `^` are patterns."""
        named = {topic for topic in wanted if not topic.startswith(PATTERN_MARK)}
        patterns = [re.compile(topic) for topic in wanted if topic.startswith(PATTERN_MARK)]
        if patterns:
            with self._last_error.explained(f"Kafka at {self._name}, list of topics"):
                self._admin.poll(0)
                existing = self._admin.list_topics(timeout=REQUEST_SECONDS).topics
            named |= {
                name
                for name in existing
                if not name.startswith(_INTERNAL) and any(one.search(name) for one in patterns)
            }
        return sorted(named)

    def describe(self, names: Sequence[str]) -> dict[str, Topic | SourceError]:
        """Return the topics by name, or why one cannot be described."""
        if not names:
            return {}
        self._ensure_answer()
        found: dict[str, Topic | SourceError] = {}
        self._admin.poll(0)
        asked = self._admin.describe_topics(TopicCollection(list(names)), request_timeout=REQUEST_SECONDS)
        for name, future in asked.items():
            try:
                with self._last_error.explained(f"Kafka topic {name}"):
                    described = future.result()
            except SourceError as error:
                found[name] = error
                continue
            partitions = tuple(Partition(name, one.id) for one in described.partitions)
            found[name] = Topic(name, str(described.topic_id), partitions)
        return found

    def _ensure_answer(self) -> None:
        """Raise `SourceError` if no broker answers: other requests would only time out."""
        if self._has_answered:
            return
        with self._last_error.explained(f"Kafka at {self._name}: no broker answers"):
            # Not `list_topics` with a name: a broker may create that topic.
            self._admin.describe_cluster(request_timeout=REQUEST_SECONDS).result()
        self._has_answered = True

    def find_offsets(
        self, partitions: Sequence[Partition], where: Literal["first", "end"] | datetime
    ) -> Offsets:
        """Return the first offsets, those after the last readable messages, or the first ones of a time.

        A partition without messages from that time on is missing in the result.
        """
        if not partitions:
            return Offsets({}, {})
        spec = _to_spec(where)
        self._admin.poll(0)
        asked = self._admin.list_offsets(
            {TopicPartition(*one): spec for one in partitions},
            isolation_level=self._isolation,
            request_timeout=REQUEST_SECONDS,
        )
        found: dict[Partition, int] = {}
        errors: dict[Partition, SourceError] = {}
        for place, future in asked.items():
            partition = Partition(place.topic, place.partition)
            try:
                with self._last_error.explained(f"Kafka partition {partition}"):
                    offset = future.result().offset
            except SourceError as error:
                errors[partition] = error
                continue
            if offset >= 0:
                found[partition] = offset
        return Offsets(found, errors)


# Its types are incomplete.
OffsetSpec: Any = _OffsetSpec


def _to_spec(where: Literal["first", "end"] | datetime) -> Any:
    if isinstance(where, datetime):
        return OffsetSpec.for_timestamp(int(where.timestamp() * 1000))
    return OffsetSpec.earliest() if where == "first" else OffsetSpec.latest()

"""`source: {type: kafka}`: topics of a Kafka cluster."""

import re
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from headwater.config.section import FieldNames, Patterns, SectionError, StartFrom, TextMap
from headwater.config.source.section import SourceSection

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:]+\]|[^\s:/,\[\]]+):\d{1,5}")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_OWN_OPTIONS = {
    "bootstrap.servers": "`bootstrap`",
    "group.id": "`group`",
    "isolation.level": "`isolation`",
    "enable.auto.commit": "headwater, which keeps offsets in the lake",
    "enable.auto.offset.store": "headwater, which keeps offsets in the lake",
    "enable.partition.eof": "headwater",
    "auto.offset.reset": "`start_from`",
}
PATTERN_MARK = "^"
USER_VARIABLE = "HEADWATER_KAFKA_USER"
PASSWORD_VARIABLE = "HEADWATER_KAFKA_PASSWORD"  # noqa: S105 - the name of the variable
KEY_PASSWORD_VARIABLE = "HEADWATER_KAFKA_KEY_PASSWORD"  # noqa: S105 - the name of the variable


def _check_bootstrap(addresses: tuple[str, ...]) -> tuple[str, ...]:
    if not addresses:
        raise ValueError("the list is empty; name at least one broker, such as `broker-1:9092`")
    for address in addresses:
        if not _ADDRESS.fullmatch(address):
            raise ValueError(f"{address!r} is no address of a broker. Allowed: `host:port`")
    return addresses


def _check_topics(topics: tuple[str, ...]) -> tuple[str, ...]:
    if not topics:
        raise ValueError("the list is empty; name a topic, or a pattern such as `^orders-.*`")
    for topic in topics:
        if topic.startswith(PATTERN_MARK):
            _compile(topic)
        elif not _TOPIC.fullmatch(topic) or topic in (".", ".."):
            raise ValueError(
                f"{topic!r} is no name of a topic. Allowed: at most 249 letters, digits, `.`, `_` and `-`; a "
                f"pattern begins with `{PATTERN_MARK}`"
            )
    return topics


def _compile(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from error


class KafkaSourceConfig(SourceSection):
    """Topics of a Kafka cluster. Ranges of their offsets are the objects that tables read."""

    is_watched: ClassVar[bool] = True
    is_listed: ClassVar[bool] = False
    lists_ranges: ClassVar[bool] = False
    location_key: ClassVar[str] = "cluster"
    queue: ClassVar[None] = None
    # Its poller fills a queue of its own.
    shared_queue: ClassVar[str] = ""
    prefix: ClassVar[str] = ""
    # Offsets belong to one cluster.
    moved_from: ClassVar[None] = None
    # Kafka's retention removes messages.
    clean_source: ClassVar[Literal["off"]] = "off"
    clean_source_delay: ClassVar[float] = 0
    clean_source_move_to: ClassVar[None] = None
    clean_source_target: ClassVar[str] = ""

    type: Literal["kafka"] = Field(description="Topics of a Kafka cluster.")
    bootstrap: Annotated[FieldNames, AfterValidator(_check_bootstrap)] = Field(
        description="Addresses of brokers, from which all others are found.",
        examples=[["broker-1:9092", "broker-2:9092"]],
    )
    topics: Annotated[Patterns, AfterValidator(_check_topics)] = Field(
        description="Names of topics. One that begins with `^` is a regular expression, also for topics that "
        "are created later.",
        examples=[["orders", "^events-.*"]],
    )
    cluster: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._:,-]*$",
        description="Name of the cluster in the lake, which must not change later. Default: `bootstrap`.",
        examples=["production"],
    )
    start_from: StartFrom = Field(
        "earliest",
        description="Where a topic begins that was never captured: `earliest` (all messages that it still "
        "has), `latest` (new ones), or a time.",
    )
    group: str | None = Field(
        None,
        min_length=1,
        description="Consumer group in which captured offsets are committed, for tools that show the lag of "
        "groups. They are never read: the lake has its own. Default: none.",
        examples=["headwater"],
    )
    isolation: Literal["read_committed", "read_uncommitted"] = Field(
        "read_committed",
        description="Whether messages of open and aborted transactions are left out.",
    )
    poll_interval: float = Field(
        0.5,
        gt=0,
        le=3600,
        description="How often the ends of partitions are read, in seconds. Each time a partition has new "
        "messages, at least one object is created.",
    )
    max_messages_per_object: int = Field(
        5_000,
        ge=1,
        le=1_000_000,
        description="Maximum number of offsets in an object. An object is read as a whole, so it must stay "
        "below 256 MiB.",
    )
    recreated_topics: Literal["stop", "continue"] = Field(
        "stop",
        description="What follows when a topic was deleted and created again, or lost its newest messages: "
        "`stop` captures nothing more of it and reports an error, `continue` captures the new topic from its "
        "first message, and one that lost messages from its end.",
    )
    options: TextMap = Field(
        {},
        description="Further settings of librdkafka, the client: those for TLS and SASL, above all. User and "
        "password come from the environment: HEADWATER_KAFKA_USER and HEADWATER_KAFKA_PASSWORD.",
        examples=[{"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512"}],
    )

    @property
    def location(self) -> str:
        """Return the cluster's name."""
        return self.cluster or ",".join(self.bootstrap)

    @property
    def known_location(self) -> str:
        """Return the cluster's name in the lake."""
        return self.location

    @property
    def address(self) -> str:
        """Return the URL of the cluster."""
        return f"kafka://{self.location}"

    @property
    def notified_by(self) -> dict[str, str]:
        """Return the route of notifications: the ends of partitions are polled."""
        return {"notifications": "offsets"}

    @field_validator("options")
    @classmethod
    def _check_options(cls, options: dict[str, str]) -> dict[str, str]:
        for name in options:
            if name in _OWN_OPTIONS:
                raise ValueError(f"{name!r} is set by {_OWN_OPTIONS[name]}; remove it")
        return options

    @model_validator(mode="after")
    def _check_topics_once(self) -> "KafkaSourceConfig":
        repeated = next((topic for topic in self.topics if self.topics.count(topic) > 1), None)
        if repeated is not None:
            raise SectionError([(("topics",), f"{repeated!r} is listed twice; remove one")])
        return self

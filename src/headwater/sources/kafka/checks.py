"""Checks a Kafka cluster as a source: that it answers, and that the topics exist and can be described."""

from headwater.config.source import KafkaSourceConfig
from headwater.errors import QueueNotFoundError, SourceError
from headwater.sources.finding import SetupFinding, to_finding
from headwater.sources.kafka.cluster import Cluster, build_settings
from headwater.sources.kafka.topics import Topic

_BROKERS, _TOPICS = "source.bootstrap", "source.topics"
_SHOWN = 5


def ensure_topics(source: KafkaSourceConfig) -> None:
    """Raise `SourceError` if the cluster does not answer, or none of the topics can be described.

    One that cannot be does not keep the others from being captured.
    """
    cluster = Cluster(build_settings(source))
    names = cluster.find_topics(source.topics)
    if not names:
        raise QueueNotFoundError(
            f"no topic at {source.location} matches {', '.join(source.topics)}",
            hint="create a topic, or correct `source.topics`",
        )
    described = list(cluster.describe(names).values())
    errors = [found for found in described if isinstance(found, SourceError)]
    if len(errors) == len(described):
        raise errors[0]


def check_kafka_source(source: KafkaSourceConfig) -> list[SetupFinding]:
    """Return findings about the brokers and each topic."""
    try:
        cluster = Cluster(build_settings(source))
        names = cluster.find_topics(source.topics)
        described = cluster.describe(names)
    except SourceError as error:
        return [to_finding(_BROKERS, error)]
    found = [topic for topic in described.values() if isinstance(topic, Topic)]
    errors = [error for error in described.values() if isinstance(error, SourceError)]
    problems = [to_finding(_TOPICS, error) for error in errors]
    if not names:
        detail = f"no topic matches {', '.join(source.topics)} yet"
        problems.append(SetupFinding(_TOPICS, "warning", detail, "create a topic, or correct source.topics"))
    if not found:
        return problems
    partitions = sum(len(topic.partitions) for topic in found)
    shown = ", ".join(topic.name for topic in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    detail = f"{shown}{more}: {partitions} partitions can be read"
    answers = SetupFinding(_BROKERS, "ok", f"{source.location} answers")
    return [answers, SetupFinding(_TOPICS, "ok", detail), *problems]

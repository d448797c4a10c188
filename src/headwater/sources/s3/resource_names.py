"""Names of a source's queue, topic and rule. Pure."""

from typing import TYPE_CHECKING

from headwater.sources.planning.names import derive_name, digest, shorten

if TYPE_CHECKING:
    from headwater.config.source import S3SourceConfig

# EventBridge allows fewer characters than SQS and SNS.
MAX_RULE_NAME = 64


def name_resources(source: "S3SourceConfig") -> str:
    """Return the configured name, else one derived from bucket and prefix only; at most 75 characters."""
    return source.resources.name or derive_name(source.bucket, source.prefix)


def name_queue_of(source: "S3SourceConfig") -> str:
    """Return the queue's name: the last part of its URL if that is configured."""
    url = source.queue.url
    return url.rstrip("/").rsplit("/", 1)[-1] if url else name_resources(source)


def name_rule(name: str) -> str:
    """Return a valid EventBridge name."""
    return name if len(name) <= MAX_RULE_NAME else shorten(name, digest(name), MAX_RULE_NAME)

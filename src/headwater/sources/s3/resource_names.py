"""Names of a source's queue, topic and rule, derived the same way by `up` and `run`. Pure."""

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.config.source import S3SourceConfig

# SQS allows 80 characters, of which the dead-letter queue's suffix needs five; EventBridge allows 64.
MAX_NAME = 75
MAX_RULE_NAME = 64
DEAD_LETTER_ENDING = "-dead"
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def name_resources(source: "S3SourceConfig") -> str:
    """Return the configured name, else one derived from bucket and prefix only; at most 75 characters."""
    return source.resources.name or derive_name(source.bucket, source.prefix)


def derive_name(bucket: str, prefix: str = "") -> str:
    """Return `headwater-BUCKET`, with a digest of both if bucket or prefix are not valid in a name."""
    whole = f"headwater-{bucket}"
    if not prefix and not _UNSAFE.search(whole) and len(whole) <= MAX_NAME:
        return whole
    readable = _UNSAFE.sub("-", f"{whole}-{prefix}").strip("-")
    return _end_with(readable, digest(bucket, prefix), MAX_NAME)


def name_queue_of(source: "S3SourceConfig") -> str:
    """Return the queue's name: the last part of its URL if that is configured."""
    url = source.queue.url
    return url.rstrip("/").rsplit("/", 1)[-1] if url else name_resources(source)


def name_rule(name: str) -> str:
    """Return a valid EventBridge name."""
    return name if len(name) <= MAX_RULE_NAME else _end_with(name, digest(name), MAX_RULE_NAME)


def digest(*parts: str) -> str:
    """Return eight hex digits that identify the texts."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:8]


def _end_with(text: str, ending: str, limit: int) -> str:
    return f"{text[: limit - len(ending) - 1].rstrip('-')}-{ending}"

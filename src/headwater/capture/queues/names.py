"""How queue, topic and rule of a source are called, so that `up` and `run` agree without a word. Pure."""

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.config.source import S3SourceConfig

# SQS takes 80 characters, five of which the dead-letter queue's ending needs; EventBridge takes 64.
MAX_NAME = 75
MAX_RULE_NAME = 64
DEAD_LETTER_ENDING = "-dead"
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def name_resources(source: "S3SourceConfig") -> str:
    """The configured name, else one that bucket and prefix alone decide; at most 75 characters."""
    return source.resources.name or derive_name(source.bucket, source.prefix)


def derive_name(bucket: str, prefix: str = "") -> str:
    """`headwater-BUCKET`; with a digest of both where bucket or prefix do not fit into a name."""
    whole = f"headwater-{bucket}"
    if not prefix and not _UNSAFE.search(whole) and len(whole) <= MAX_NAME:
        return whole
    readable = _UNSAFE.sub("-", f"{whole}-{prefix}").strip("-")
    return _end_with(readable, digest(bucket, prefix), MAX_NAME)


def name_queue_of(source: "S3SourceConfig") -> str:
    """The queue's name: what its URL ends with when that is configured."""
    url = source.queue.url
    return url.rstrip("/").rsplit("/", 1)[-1] if url else name_resources(source)


def name_rule(name: str) -> str:
    """A name that EventBridge takes."""
    return name if len(name) <= MAX_RULE_NAME else _end_with(name, digest(name), MAX_RULE_NAME)


def digest(*parts: str) -> str:
    """Eight hex digits that stand for texts, whatever is in them."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:8]


def _end_with(text: str, ending: str, limit: int) -> str:
    return f"{text[: limit - len(ending) - 1].rstrip('-')}-{ending}"

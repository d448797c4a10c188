"""Names of a source's resources, derived the same way by `up` and `run`. Pure."""

import hashlib
import re

# SQS allows 80 characters, of which the dead-letter queue's suffix needs five. Pub/Sub allows more.
MAX_NAME = 75
DEAD_LETTER_ENDING = "-dead"
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def derive_name(bucket: str, prefix: str = "") -> str:
    """Return `headwater-BUCKET`, with a digest of both if bucket or prefix are not valid in a name."""
    whole = f"headwater-{bucket}"
    if not prefix and not _UNSAFE.search(whole) and len(whole) <= MAX_NAME:
        return whole
    readable = _UNSAFE.sub("-", f"{whole}-{prefix}").strip("-")
    return shorten(readable, digest(bucket, prefix), MAX_NAME)


def digest(*parts: str) -> str:
    """Return eight hex digits that identify the texts."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:8]


def shorten(text: str, ending: str, limit: int) -> str:
    """Return at most `limit` characters: the beginning of the text, and the ending."""
    return f"{text[: limit - len(ending) - 1].rstrip('-')}-{ending}"

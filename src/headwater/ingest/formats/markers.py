"""Markers before the text of records that cannot become rows, with the reason. They are passed on to Spark.

A marker is two Unicode noncharacters, which exchanged text never contains.
"""

from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import contains

MARKER = "\uffff"
"""The first character of every marker."""

MALFORMED = MARKER + "\ufdd0"
UNDECODABLE = MARKER + "\ufdd1"
REPEATED_NAME = MARKER + "\ufdd2"
OVERSIZE = MARKER + "\ufdd3"
UNKNOWN_CHANGE = MARKER + "\ufdd4"
NO_ROW = MARKER + "\ufdd5"
UNAVAILABLE_VALUE = MARKER + "\ufdd6"
BAD_SEQUENCE = MARKER + "\ufdd7"
BAD_RECORD = MARKER + "\ufdd8"
UNKNOWN_SCHEMA = MARKER + "\ufdd9"
TOMBSTONE = MARKER + "\ufdda"
EXPIRED = MARKER + "\ufddb"

REASONS: Mapping[str, str] = {
    MALFORMED: "unparsable",
    UNDECODABLE: "undecodable",
    REPEATED_NAME: "repeated_name",
    OVERSIZE: "oversize",
    UNKNOWN_CHANGE: "unknown_change",
    NO_ROW: "no_row",
    UNAVAILABLE_VALUE: "unavailable_value",
    BAD_SEQUENCE: "bad_sequence",
    BAD_RECORD: "bad_record",
    UNKNOWN_SCHEMA: "unknown_schema",
    TOMBSTONE: "tombstone",
    EXPIRED: "expired",
}
"""The quarantine's reason for each marker."""

KEPT_CHARS = 1_000
"""How much is kept of the text of a record that is too large."""

UNDECODED = "\udcff"
"""Replaces bytes that are not text in the object's encoding; decoded text never contains it otherwise."""


def mark_undecodable(texts: Sequence[str]) -> Sequence[str]:
    """Mark texts with undecodable bytes, which U+FFFD replaces."""
    if not any(map(contains, texts, repeat(UNDECODED))):
        return texts
    return [UNDECODABLE + text.replace(UNDECODED, "\ufffd") if UNDECODED in text else text for text in texts]


def mark_oversize(texts: Sequence[str], limit: int) -> Sequence[str]:
    """Mark texts of more than `limit` bytes, and shorten them: Spark would need several times their size."""
    # A character has at most four bytes.
    if max(map(len, texts), default=0) <= limit // 4:
        return texts
    return [OVERSIZE + text[:KEPT_CHARS] if _is_oversize(text, limit) else text for text in texts]


def _is_oversize(text: str, limit: int) -> bool:
    return len(text) > limit // 4 and len(text.encode("utf-8", "surrogatepass")) > limit

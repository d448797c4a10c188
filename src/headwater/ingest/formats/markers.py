"""Markers before the text of records that cannot become rows, with the reason. They are passed on to Spark.

A marker is two Unicode noncharacters, which exchanged text never contains.
"""

from collections.abc import Mapping, Sequence

MARKER = "\uffff"
"""The first character of every marker."""

MALFORMED = MARKER + "\ufdd0"
UNDECODABLE = MARKER + "\ufdd1"
REPEATED_NAME = MARKER + "\ufdd2"

REASONS: Mapping[str, str] = {
    MALFORMED: "unparsable",
    UNDECODABLE: "undecodable",
    REPEATED_NAME: "repeated_name",
}
"""The quarantine's reason for each marker."""

UNDECODED = "\udcff"
"""Replaces bytes that are not text in the object's encoding; decoded text never contains it otherwise."""


def mark_undecodable(texts: Sequence[str]) -> Sequence[str]:
    """Mark texts with undecodable bytes, which U+FFFD replaces."""
    if not any(UNDECODED in text for text in texts):
        return texts
    return [UNDECODABLE + text.replace(UNDECODED, "\ufffd") if UNDECODED in text else text for text in texts]

"""Marks: the rows of HoodieStreamer's events table as texts in the order in which its jobs read them. Pure.

A row is at the instant of its commit, and in the commit at its object's key. Both are compared byte by byte,
and no digit is followed by a character below `#`.
"""

WITHIN = "#"
"""Between the instant and the key."""
_AFTER = "$"  # the character after `#`


def build_mark(instant: str, key: str | None = None) -> str:
    """Return the mark of an object in a commit; None for the end of the commit."""
    return f"{instant}{_AFTER}" if key is None else f"{instant}{WITHIN}{key}"


def build_origin(address: str) -> str:
    """Return the beginning of the message ids of all events from the table at this address."""
    return f"{address.rstrip('/')}{WITHIN}"

"""Describes in one sentence how an object's columns differ from the table's."""

from collections.abc import Sequence

_MAX_NAMES = 10


def describe_differences(unknown: Sequence[str], missing: Sequence[str]) -> str:
    """Return the names of columns that were dropped or filled with nulls; empty if there are none."""
    parts = [
        f"{what} ({len(names)}): {', '.join(names[:_MAX_NAMES])}"
        for names, what in ((unknown, "columns dropped"), (missing, "columns missing"))
        if names
    ]
    return "; ".join(parts)

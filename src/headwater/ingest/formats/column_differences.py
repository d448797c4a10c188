"""One sentence on how an object's columns differ from the table's."""

from collections.abc import Sequence

_MAX_NAMES = 10


def describe_differences(unknown: Sequence[str], missing: Sequence[str]) -> str:
    """Names of columns that were left out and of those that are filled with nulls; empty without any."""
    parts = [
        f"{len(names)} {what}: {', '.join(names[:_MAX_NAMES])}"
        for names, what in ((unknown, "columns left out"), (missing, "columns missing"))
        if names
    ]
    return "; ".join(parts)

"""Finds the known name that was probably intended."""

import difflib
from collections.abc import Iterable


def find_nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name nearest to the word, ignoring case; None when none is near."""
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[near[0]] if near else None

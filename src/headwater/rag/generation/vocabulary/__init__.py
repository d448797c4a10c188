"""Word lists of the package, one file each: words, or lines `key: words`."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def load_words(name: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(word for line in _read_lines(name) for word in line.split())


@cache
def load_groups(name: str) -> Mapping[str, frozenset[str]]:
    """Return the words of a list by their keys."""
    pairs = (line.partition(": ") for line in _read_lines(name))
    return {key: frozenset(words.split()) for key, _, words in pairs}


def _read_lines(name: str) -> list[str]:
    lines = (files(__package__) / f"{name}.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]

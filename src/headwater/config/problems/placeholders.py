"""Detects placeholders that nothing replaces: `${BUCKET}`, `$BUCKET`."""

import re
from collections.abc import Iterator

from headwater.config.problems.problem import Data, KeyPath, Problem

_PLACEHOLDER = re.compile(r"\$\{[A-Za-z_][\w.]*(?::?[-?+=][^}]*)?\}|\A\$[A-Z_][A-Z0-9_]*\Z", re.ASCII)
_FREE = frozenset(
    {"hoodie", "config", "options", "transform", "checks", "regex", "tags", "clean_source_tags"}
)
"""Hadoop, SQL and expressions have their own placeholders."""


def iter_placeholder_problems(data: Data, path: KeyPath = ()) -> Iterator[Problem]:
    """Yield a problem for each text with a placeholder: headwater replaces none."""
    for key, value in data.items():
        if key not in _FREE:
            yield from _iter_problems(value, (*path, key))


def _iter_problems(value: object, path: KeyPath) -> Iterator[Problem]:
    if isinstance(value, dict):
        yield from iter_placeholder_problems(value, path)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _iter_problems(item, (*path, at))
    elif isinstance(value, str) and (found := _PLACEHOLDER.search(value)):
        variable = "__".join(part for part in path if isinstance(part, str)).upper()
        yield Problem(
            path,
            f"{value!r}: headwater does not substitute {found[0]!r}; write the value, or remove the key and "
            f"set the environment variable HEADWATER__{variable}",
        )

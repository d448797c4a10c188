"""`Problem`: one problem of the configuration, before it becomes a line of an error."""

from dataclasses import dataclass

KeyPath = tuple[str | int, ...]
"""Keys (text) and list positions (0-based) from the root of the configuration."""

Data = dict[str, object]
"""Configuration as nested mappings, lists and scalars, as YAML gives them."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem at a path; `line` (1-based) only if it differs from the line of that path."""

    path: KeyPath
    text: str
    line: int | None = None


def format_path(path: KeyPath) -> str:
    """Format a path as a user would write it: `tables.orders.path[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def value_at(data: object, path: KeyPath) -> object:
    """Return the value at a path; None where there is none."""
    for part in path:
        if isinstance(data, dict):
            data = data.get(part)
        elif isinstance(data, (list, tuple)) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return None
    return data

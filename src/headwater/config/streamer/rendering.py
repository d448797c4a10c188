"""Renders a conversion as headwater.yaml, with the origin of each value and what is left out."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from headwater.config.environment import DEFAULT_CONFIG_NAME
from headwater.config.loader import parse_settings
from headwater.config.problems.problem import Data, KeyPath
from headwater.config.streamer.conversion import Conversion
from headwater.errors import ConfigError, UsageError

_COMMENT_COLUMN = 60
_PLAIN = re.compile(
    r"(?!(?:true|false|null|yes|no|on|off|y|n)$)[a-z][\w/.@-]*(?:://?[\w/.@:-]*\w)?", re.I | re.A
)
"""Texts that need no quotes in YAML."""


def render_conversion(conversion: Conversion, files: str) -> str:
    """Return the text of headwater.yaml. `files` names what was converted."""
    lines = [
        f"# Converted from {files} by `headwater config import`.",
        "#   headwater config check    validate this file",
        "#   headwater doctor          check what it names",
        *_render(conversion.data, (), conversion.origins),
    ]
    if conversion.notes:
        lines += ["", "# To do:", *(f"#   - {note}" for note in conversion.notes)]
    if conversion.left_out:
        lines += ["", "# Without an equivalent:"]
        lines += [
            f"#   {_flatten(left.setting)} ({left.origin}): {left.reason}" for left in conversion.left_out
        ]
    text = "\n".join([*lines, ""])
    problems = _list_problems(text)
    if problems:
        text += "\n".join(
            ["", "# `headwater config check` reports:", *(f"#   {line}" for line in problems), ""]
        )
    return text


def write_conversion(path: Path, text: str) -> None:
    """Write a new file. Raises `UsageError` if it exists, or cannot be written."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"{path} already exists", hint="specify another file with --output") from error
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", hint="specify another file") from error


def _list_problems(text: str) -> list[str]:
    try:
        # A missing extra may be installed where the configuration is used.
        parse_settings(text, Path(DEFAULT_CONFIG_NAME), environ={}, installed=lambda _: True)
    except ConfigError as error:
        return error.message.splitlines()
    return []


def _render(section: Data, path: KeyPath, origins: Mapping[KeyPath, str]) -> Iterator[str]:
    indent = "  " * len(path)
    for key, item in section.items():
        here = (*path, key)
        if isinstance(item, dict) and item and here not in origins:
            yield f"{indent}{_write(key)}:"
            yield from _render(item, here, origins)
            continue
        line = f"{indent}{_write(key)}: {_write(item)}"
        origin = origins.get(here)
        yield f"{line.ljust(_COMMENT_COLUMN)}  # {_flatten(origin)}" if origin else line


def _write(value: object) -> str:
    """Write a value in one line of YAML: as JSON, and without quotes where none are needed."""
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value
    if isinstance(value, list):
        return f"[{', '.join(map(_write, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_write(key)}: {_write(item)}' for key, item in value.items())}}}"
    return json.dumps(value, ensure_ascii=False)


def _flatten(text: str) -> str:
    return " ".join(text.split())

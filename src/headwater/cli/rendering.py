"""The output format of results and errors, as text (rich) and as JSON. Results go to stdout, errors to
stderr."""

import json
import math
import sys
from base64 import b64encode
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import TextIO

from headwater.errors import ConfigError, HeadwaterError

# A pipe has no width, and its reader needs whole values.
MAX_PIPED_WIDTH = 10_000


def render_text(text: str) -> None:
    """Print one line or block of text."""
    _write(sys.stdout, text)


def render_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "", is_paged: bool = False
) -> None:
    """Print a table; truncates nothing unless the output is a terminal. None is an empty cell.

    `is_paged` shows one that is longer than the terminal with the pager of `$PAGER`, or with `less`.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, title=title or None, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        # Text, not markup: a key may contain square brackets.
        table.add_row(*(Text(_format_cell(cell)) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=MAX_PIPED_WIDTH)
    elif is_paged and sys.stdin.isatty() and len(console.render_lines(table)) >= console.height:
        with console.pager():
            console.print(table)
        return
    console.print(table)


def render_json(value: object) -> None:
    """Print one JSON document; supports dataclasses, models, times, paths, decimals and bytes."""
    _write(sys.stdout, format_json(value, indent=2))


def render_json_lines(rows: Iterable[object], stream: TextIO | None = None) -> None:
    """Print one JSON document per line, streaming: binary values in base64, NaN and infinities as text.

    Default: to stdout.
    """
    for row in rows:
        _write(sys.stdout if stream is None else stream, format_json(_keep_value(row)))


def render_error(error: HeadwaterError, *, as_json: bool) -> None:
    """Print `error: message` and the hint, or one JSON object in a line."""
    if as_json:
        fields: dict[str, object] = {
            "error": type(error).__name__,
            "message": error.message,
            "hint": error.hint,
            "exit_code": error.exit_code,
            "retryable": error.retryable,
        }
        if isinstance(error, ConfigError):
            fields["problems"] = error.message.splitlines()
        _write(sys.stderr, format_json(fields))
        return
    lines = error.message.splitlines()
    if len(lines) > 1:
        lines = [f"{len(lines)} problems", *(f"  {line}" for line in lines)]
    _write(sys.stderr, "\n".join([f"error: {lines[0] if lines else type(error).__name__}", *lines[1:]]))
    if error.hint:
        _write(sys.stderr, f"hint: {error.hint}")


def format_json(value: object, *, indent: int | None = None) -> str:
    """Return JSON text; NaN and infinities become null, times ISO 8601, bytes base64, other types their
    `str`."""
    from pydantic_core import to_jsonable_python

    plain = to_jsonable_python(
        value, by_alias=True, bytes_mode="base64", inf_nan_mode="null", timedelta_mode="float", fallback=str
    )
    return json.dumps(plain, indent=indent, ensure_ascii=False, allow_nan=False)


def _keep_value(value: object) -> object:
    """Convert values that JSON lacks: null would not distinguish NaN from a missing value."""
    if isinstance(value, bytes):
        # Pydantic uses URL-safe base64, which other decoders reject.
        return b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _keep_value(item) for key, item in value.items()}
    return [_keep_value(item) for item in value] if isinstance(value, list) else value


def _format_cell(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime):
        return cell.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:,}"
    return _printable(str(cell), sys.stdout)


def _printable(text: str, stream: TextIO) -> str:
    # Neither a lone surrogate in a key nor a terminal without UTF-8 may end a command.
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _write(stream: TextIO, text: str) -> None:
    stream.write(_printable(text, stream) + "\n")
    stream.flush()

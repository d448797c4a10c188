"""The output formats of `headwater sql`, to the terminal or to a file."""

import csv
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from headwater.cli.rendering import format_json, render_json_lines, render_table, render_text
from headwater.config.own_columns import is_own_column
from headwater.errors import PlatformError, UsageError

if TYPE_CHECKING:
    from headwater.lake.sql.engine import QueryResult

SHOWN_ROWS = 100
SHOWN_CHARS = 300


class Format(Enum):
    """A format of `--format`."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    PARQUET = "parquet"


_BY_SUFFIX = {
    ".json": Format.JSON,
    ".jsonl": Format.JSON,
    ".ndjson": Format.JSON,
    ".csv": Format.CSV,
    ".md": Format.MARKDOWN,
    ".parquet": Format.PARQUET,
}


def choose_format(given: Format | None, *, as_json: bool, file: Path | None) -> Format:
    """Return the format of the options, else that of the file's extension. Raises `UsageError`."""
    if as_json and given not in (None, Format.JSON):
        raise UsageError("--json and --format name different formats", hint="omit one of them")
    known = _BY_SUFFIX.get(file.suffix.lower()) if file else None
    chosen = given or (Format.JSON if as_json else known)
    if file is None and chosen is Format.PARQUET:
        raise UsageError("--format parquet needs a file", hint="add --output FILE.parquet")
    if file is not None and chosen is None:
        raise UsageError(
            f"{file}: its extension names no format", hint=f"add --format {'|'.join(f.value for f in Format)}"
        )
    return chosen or Format.TABLE


def find_limit(chosen: Format, limit: int | None) -> int | None:
    """Return the number of rows to read: one more than a table shows reveals whether there are more."""
    return (limit or SHOWN_ROWS) + 1 if chosen is Format.TABLE else limit


def list_shown(columns: Sequence[str], query: str, *, all_columns: bool) -> list[str]:
    """Return the columns without those of Hudi and of lineage, unless they are meant."""
    asked = query.lower()
    return [name for name in columns if all_columns or not is_own_column(name) or name.lower() in asked]


def show_table(
    result: "QueryResult", columns: Sequence[str], limit: int | None, *, names_engine: bool = True
) -> None:
    """Print a table, the number of its rows, and with `names_engine` what has read them."""
    shown = limit or SHOWN_ROWS
    rows = list(islice(result.rows, shown + 1))
    cells = [[_format(row[name]) for name in columns] for row in rows[:shown]]
    render_table(columns, cells, is_paged=True)
    if len(rows) > shown:
        render_text(f"First {shown} rows; show more with --limit N, or all with --json")
    else:
        render_text(f"{len(rows)} row{'' if len(rows) == 1 else 's'}")
    if names_engine:
        render_text(f"read by {result.engine}")


def write_result(result: "QueryResult", chosen: Format, columns: Sequence[str], file: Path | None) -> None:
    """Write all rows. Raises `PlatformError` when the file cannot be written."""
    if chosen is Format.PARQUET and file is not None:
        import pyarrow.parquet as pq

        with _explained(file):
            pq.write_table(result.read_arrow().select(list(columns)), file)
    elif chosen is Format.JSON and file is None:
        render_json_lines({name: row[name] for name in columns} for row in result.rows)
    else:
        with _open(file) as stream:
            _write_text(result, chosen, columns, stream)


def _write_text(result: "QueryResult", chosen: Format, columns: Sequence[str], stream: TextIO) -> None:
    if chosen is Format.JSON:
        render_json_lines(({name: row[name] for name in columns} for row in result.rows), stream)
        return
    rows = ([_format_whole(row[name]) for name in columns] for row in result.rows)
    if chosen is Format.CSV:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        return
    for cells in (columns, ["---"] * len(columns), *rows) if chosen is Format.MARKDOWN else ():
        escaped = (str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells)
        stream.write(f"| {' | '.join(escaped)} |\n")


@contextmanager
def _open(file: Path | None) -> Iterator[TextIO]:
    if file is None:
        yield sys.stdout
        return
    with _explained(file), file.open("w", encoding="utf-8", newline="") as stream:
        yield stream


@contextmanager
def _explained(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PlatformError(
            f"{file}: cannot write: {error.strerror or error}", hint="choose another --output"
        ) from error


def _format(value: object) -> str:
    """Format a cell of a table: NULL differs from an empty text, long values are cut."""
    text = "NULL" if value is None else _format_whole(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}… ({len(text):,} characters)"


def _format_whole(value: object) -> str:
    """Format a value: nothing for NULL, numbers without separators, nested values as JSON."""
    if value is None:
        return ""
    if isinstance(value, bool | list | dict):
        return format_json(value)
    return str(value) if isinstance(value, str | int | float) else format_json(value).strip('"')

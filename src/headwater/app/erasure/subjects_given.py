"""The subjects of a command: keys from options or a file, as hashes."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.errors import UsageError
from headwater.lake.erasure.subjects import SubjectHasher, parse_value

if TYPE_CHECKING:
    import pyarrow as pa


def read_keys_file(path: Path, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the values of these columns in a CSV file with a header, or in a file of JSON lines.

    Raises `UsageError` for a file that cannot be read, or lacks a column.
    """
    try:
        rows = list(_iter_json(path) if path.suffix in (".jsonl", ".ndjson", ".json") else _iter_csv(path))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--keys-file {path}: {error}", hint="use CSV with a header, or JSON lines"
        ) from error
    return [tuple(_pick(row, name, path, at) for name in columns) for at, row in enumerate(rows, 1)]


def _iter_csv(path: Path) -> Iterator[Mapping[str, object]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        yield from csv.DictReader(file)


def _iter_json(path: Path) -> Iterator[Mapping[str, object]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError(f"{line[:40]!r} is no object")
            yield row


def _pick(row: Mapping[str, object], name: str, path: Path, at: int) -> str:
    value = {key.lower(): value for key, value in row.items()}.get(name.lower())
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise UsageError(
            f"--keys-file {path}: row {at} has no value for {name}",
            hint=f"each row needs the columns {name}, as texts or whole numbers",
        )
    return str(value)


def hash_keys(
    hasher: SubjectHasher, keys: Sequence[Sequence[str]], schema: "pa.Schema", table: str
) -> frozenset[str]:
    """Return the hashes of keys, whose values have the types of the table's columns. Raises `UsageError`."""
    kinds = [_find_kind(schema, name, table) for name in hasher.columns]
    found = set()
    for key in keys:
        values = zip(key, kinds, hasher.columns, strict=True)
        found.add(hasher.hash([parse_value(text, kind, name) for text, kind, name in values]))
    return frozenset(found)


def _find_kind(schema: "pa.Schema", name: str, table: str) -> str:
    from pyarrow import types

    fields = {field.name.lower(): field.type for field in schema}
    if name.lower() not in fields:
        raise UsageError(
            f"table {table} has no column {name}",
            hint=f"columns: {', '.join(n for n in schema.names if not n.startswith('_hoodie_'))}",
        )
    kind = fields[name.lower()]
    if types.is_string(kind) or types.is_large_string(kind):
        return "string"
    if types.is_integer(kind):
        return "bigint"
    return "date" if types.is_date(kind) else str(kind)

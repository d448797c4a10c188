"""`SampledRows`: the values of one sampled file by column."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class SampledRows:
    """Rows of a file. A column has one value per row; None for a missing one and for an empty CSV field."""

    key: str
    count: int = 0
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    is_complete: bool = True


def from_records(key: str, records: Iterable[Mapping[str, Any]], *, is_complete: bool = True) -> SampledRows:
    """Build the rows of records that name their own fields."""
    found = list(records)
    names = dict.fromkeys(name for record in found for name in record)
    columns = {name: [record.get(name) for record in found] for name in names}
    return SampledRows(key, len(found), columns, is_complete)


def from_fields(
    key: str, names: Sequence[str], records: Sequence[Sequence[str]], *, is_complete: bool = True
) -> SampledRows:
    """Build the rows of CSV records whose fields have these names."""
    columns = {
        name: [fields[at] or None if at < len(fields) else None for fields in records]
        for at, name in enumerate(names)
    }
    return SampledRows(key, len(records), columns, is_complete)


def count_rows(files: Iterable[SampledRows]) -> int:
    """Return the number of rows of all files."""
    return sum(file.count for file in files)


def list_columns(files: Iterable[SampledRows]) -> tuple[str, ...]:
    """Return the names of the columns of all files, in the order of the first file that has them."""
    return tuple(dict.fromkeys(name for file in files for name in file.columns))


def are_similar(left: Iterable[str], right: Iterable[str]) -> bool:
    """True if two tables have at least half of their columns in common, or if one has none."""
    first, second = set(left), set(right)
    return not first or not second or 2 * len(first & second) >= len(first | second)

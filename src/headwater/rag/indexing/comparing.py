"""Compares a few new chunks with the existing ones, and decides what to write. Pure.

`Indexer` does the same with joins for larger numbers; tests keep the two consistent.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

Row = Mapping[str, Any]
_R = TypeVar("_R", bound=Row)
Done = Literal["embedded", "reused", "fields_only", "deleted"]


@dataclass(frozen=True, slots=True)
class ChunkWrite:
    """One row to write, with the `values` from the split. Without a vector, the text must be embedded."""

    values: Row
    done: Done
    vector: Sequence[float] | None = None
    kept_revision: int | None = None


def compare_chunks(new: Iterable[Row], old: Iterable[Row]) -> list[ChunkWrite]:
    """Return the writes that replace `old` by `new`.

    `new` are all chunks of the rows read, `old` the existing chunks of those rows or with their keys.
    """
    before = {row["chunk_id"]: row for row in old}
    vectors = {row["content_hash"]: row["vector"] for row in before.values() if row["vector"]}
    writes = []
    for row in new:
        own = before.pop(row["chunk_id"], None)
        keeps_terms = own is not None and own["terms_hash"] == row["terms_hash"]
        is_same = keeps_terms and own is not None and _other_state(own) == _other_state(row)
        if is_same:
            continue
        vector = vectors.get(row["content_hash"])
        if vector is None:
            writes.append(ChunkWrite(row, "embedded"))
        elif keeps_terms and own is not None:
            writes.append(ChunkWrite(row, "fields_only", vector, own["content_revision"]))
        else:
            writes.append(ChunkWrite(row, "reused", vector))
    return [*writes, *(ChunkWrite(row, "deleted") for row in before.values())]


def choose_newest(rows: Iterable[_R]) -> list[_R]:
    """Return the chunks of the newest row among several rows with the same key."""
    found = list(rows)
    newest: dict[str, tuple[str, str]] = {}
    for row in found:
        newest[row["row_key"]] = max(newest.get(row["row_key"], ("", "")), _age(row))
    return [row for row in found if newest[row["row_key"]] == _age(row)]


def _age(row: Row) -> tuple[str, str]:
    return row["commit"], row["source_key"]


def _other_state(row: Row) -> tuple[str, str]:
    return row["fields_hash"], row["source_key"]

"""Writes the points of a version. Each function is one transaction, which locks the version for others."""

import struct
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from headwater.errors import IndexNotFoundError
from headwater.rag.vector_stores.pgvector.connections import Connection
from headwater.rag.vector_stores.pgvector.legs import to_terms
from headwater.rag.vector_stores.pgvector.plain_text import escape_text, write_fields
from headwater.rag.vector_stores.pgvector.tables import VersionTables
from headwater.rag.vector_stores.protocol import Point

_RESERVE = """
update {versions} set last_number = last_number + %(count)s, last_revision = last_revision + %(count)s
where name = %(name)s returning last_number - %(count)s, last_revision - %(count)s
"""
_COUNT = "update {versions} set points = points + %(count)s where name = %(name)s"
_DELETE = "delete from {points} where chunk_id = any(%s::uuid[]) returning chunk_id::text, number"
_SET_FIELDS = """
update {points} set revision = %s, row_key = %s, chunk_number = %s, content_hash = %s, fields_hash = %s,
    instant = %s, tenant = %s, fields = %s::jsonb
where chunk_id = %s::uuid
"""


def write_points(connection: Connection, tables: VersionTables, points: Collection[Point]) -> None:
    """Write complete points with different ids. A known id keeps its number."""
    last_number, last_revision = _reserve(connection, tables, len(points))
    numbers = _remove(connection, tables, [point.chunk_id for point in points])
    _count(connection, tables, len(points) - len(numbers))
    placed = []
    for at, point in enumerate(points, 1):
        placed.append((numbers.get(point.chunk_id, last_number + at), last_revision + at, point))
    with connection.cursor() as cursor:
        with cursor.copy(tables.write("copy {points} from stdin")) as rows:
            for number, revision, point in placed:
                rows.write_row((number, revision, point.chunk_id, *_list_fields(point), *_list_texts(point)))
        with cursor.copy(tables.write("copy {vectors} from stdin with (format binary)")) as rows:
            rows.set_types(["int4", "bytea"])
            for number, _, point in placed:
                rows.write_row((number, _pack(point.dense)))
        for name, table in tables.postings.items():
            with cursor.copy(
                tables.write("copy {table} from stdin with (format binary)", table=table)
            ) as rows:
                rows.set_types(["int4", "int4", "float4"])
                for number, _, point in placed:
                    if (vector := point.sparse.get(name)) is not None:
                        for term, weight in zip(to_terms(vector), vector.values, strict=True):
                            rows.write_row((term, number, weight))


def set_fields(connection: Connection, tables: VersionTables, points: Sequence[Point]) -> None:
    """Update existing points, except for text and vectors."""
    _, revision = _reserve(connection, tables, len(points))
    with connection.cursor() as cursor:
        cursor.executemany(
            tables.write(_SET_FIELDS),
            [(revision + at, *_list_fields(point), point.chunk_id) for at, point in enumerate(points, 1)],
        )


def delete_points(connection: Connection, tables: VersionTables, chunk_ids: Sequence[str]) -> None:
    """Remove points."""
    _reserve(connection, tables, 0)
    _count(connection, tables, -len(_remove(connection, tables, chunk_ids)))


def _reserve(connection: Connection, tables: VersionTables, count: int) -> tuple[int, int]:
    """Lock the version and return the last used number and revision; `count` of each are reserved."""
    found = connection.execute(tables.write(_RESERVE), {"count": count, "name": tables.version}).fetchone()
    if found is None:
        raise IndexNotFoundError(
            f"the index has no version {tables.version!r}", hint="run headwater index build"
        )
    return found[0], found[1]


def _count(connection: Connection, tables: VersionTables, count: int) -> None:
    connection.execute(tables.write(_COUNT), {"count": count, "name": tables.version})


def _remove(connection: Connection, tables: VersionTables, chunk_ids: Sequence[str]) -> dict[str, int]:
    """Return the numbers of the removed points by id."""
    found = connection.execute(tables.write(_DELETE), [list(chunk_ids)]).fetchall()
    numbers = [number for _, number in found]
    for table in (tables.names["vectors"], *tables.postings.values()) if numbers else ():
        connection.execute(tables.write("delete from {table} where number = any(%s)", table=table), [numbers])
    return dict(found)


def _list_fields(point: Point) -> tuple[Any, ...]:
    return (
        escape_text(point.row_key),
        point.chunk_number,
        point.content_hash,
        point.fields_hash,
        point.instant,
        None if point.tenant is None else escape_text(point.tenant),
        write_fields(point.fields),
    )


def _list_texts(point: Point) -> tuple[str, str]:
    return escape_text(point.text), escape_text(point.stems)


def _pack(dense: Sequence[float]) -> bytes:
    return struct.pack(">hh", len(dense), 0) + np.asarray(dense, dtype=">f4").tobytes()

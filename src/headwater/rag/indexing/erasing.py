"""The chunks of rows that are erased, by hashes of their source rows."""

from pyspark.sql import Column, DataFrame

from headwater.lake.erasure.hashing import build_hash, match_any, pick_column
from headwater.lake.erasure.subjects import Secret, SubjectHasher
from headwater.lake.table import Table
from headwater.rag.indexing.rows import source_key

_SOURCE_KEY = "source_key"


def build_source_hasher(secret: Secret) -> SubjectHasher:
    """Return the hasher of source rows, which a chunk names by its column `source_key`."""
    return SubjectHasher.of(secret, (_SOURCE_KEY,))


def find_sources(
    table: Table, subjects: SubjectHasher, hashes: frozenset[str], sources: SubjectHasher
) -> frozenset[str]:
    """Return the hashes of a table's rows of these subjects. Raises `LakeError`."""
    rows = table.read()
    found = rows.where(match_any(build_hash(subjects, pick_column(rows)), hashes))
    return _hash(found.select(source_key()), sources)


def leave_out_present(table: Table, sources: SubjectHasher, hashes: frozenset[str]) -> frozenset[str]:
    """Return the hashes that no row of the table has now: a later row may have the key of an erased one.

    Raises `LakeError`.
    """
    if not hashes:
        return hashes
    present = table.read().select(source_key())
    return hashes - _hash(present.where(match_sources(present, sources, hashes)), sources)


def match_sources(frame: DataFrame, sources: SubjectHasher, hashes: frozenset[str]) -> Column:
    """True for chunks of the source rows with these hashes."""
    return match_any(build_hash(sources, pick_column(frame)), hashes)


def _hash(keys: DataFrame, sources: SubjectHasher) -> frozenset[str]:
    hashed = build_hash(sources, pick_column(keys)).alias("hash")
    return frozenset(row["hash"] for row in keys.select(hashed).distinct().collect())

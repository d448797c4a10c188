"""The hash of a row's subject as a Spark column, equal to `SubjectHasher.hash`."""

from collections.abc import Callable, Collection
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, FractionalType

from headwater.lake.erasure.subjects import MOST_EXACT, SubjectHasher

# A longer list is joined.
_MOST_LITERALS = 1_000


def build_hash(hasher: SubjectHasher, pick: Callable[[str], tuple[Column, DataType]]) -> Column:
    """Build the hash of a row; null if a key column is null.

    `pick` returns a column by its name, and its type.
    """
    parts = [F.lit(hasher.prefix)]
    for name in hasher.columns:
        text = _spell(*pick(name))
        parts += [F.octet_length(text).cast("string"), F.lit(":"), text]
    message = F.encode(F.concat(*parts), "UTF-8")
    inner, outer = (F.lit(bytearray(pad)) for pad in hasher.pads)
    return F.sha2(F.concat(outer, F.unhex(F.sha2(F.concat(inner, message), 256))), 256)


def match_any(hashed: Column, hashes: Collection[str]) -> Column:
    """True for a hash in the list; false for null."""
    texts = sorted(hashes)
    chunks = [texts[at : at + _MOST_LITERALS] for at in range(0, len(texts), _MOST_LITERALS)]
    found = reduce(or_, (hashed.isin(chunk) for chunk in chunks), F.lit(False))
    return F.coalesce(found, F.lit(False))


def pick_column(frame: DataFrame) -> Callable[[str], tuple[Column, DataType]]:
    """Return what finds a frame's columns, ignoring case. Raises `KeyError` for an unknown name."""
    fields = {field.name.lower(): field for field in frame.schema}

    def pick(name: str) -> tuple[Column, DataType]:
        field = fields[name.lower()]
        return F.col(f"`{field.name}`"), field.dataType

    return pick


def _spell(column: Column, kind: DataType) -> Column:
    if isinstance(kind, FractionalType):
        is_whole = (column == F.floor(column)) & (F.abs(column) < MOST_EXACT)
        return F.when(is_whole, column.cast("bigint").cast("string"))
    return column.cast("string")

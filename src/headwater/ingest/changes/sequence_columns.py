"""The position of a change as one text, from typed columns: see `formats.envelopes.sequence`."""

from collections.abc import Sequence
from decimal import Decimal
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    StringType,
    StructType,
    TimestampType,
)

from headwater.ingest.formats.envelopes.sequence import (
    DIGITS,
    FRACTION_DIGITS,
    NUMBER,
    SEPARATOR,
    SHIFT,
    TEXT,
)


def build_sequence(record: Column, schema: StructType, names: Sequence[str]) -> Column:
    """Build the text of the fields that order changes; empty if all are null. Absent columns are null."""
    types = {field.name: field.dataType for field in schema}
    nothing = F.lit(None).cast(StringType())
    # An absent column has its place, too: it may appear with a later object.
    parts = [_encode(record.getField(name), types[name]) if name in types else nothing for name in names]
    is_set = reduce(or_, (part.isNotNull() for part in parts), F.lit(False))
    joined = F.concat_ws(SEPARATOR, *(F.coalesce(part, F.lit("")) for part in parts))
    return F.when(is_set, joined).otherwise("")


def has_control_character(record: Column, schema: StructType, names: Sequence[str]) -> Column:
    """True if a text among the fields cannot be ordered, because it has a tab or a lower character."""
    texts = [f.name for f in schema if f.name in names and isinstance(f.dataType, StringType)]
    pattern = rf"[\x00-{SEPARATOR}]"
    found = [F.coalesce(record.getField(name).rlike(pattern), F.lit(False)) for name in texts]
    return reduce(or_, found, F.lit(False))


def build_position(rank: Column, sequence: Column, key: Column, micros: Column, row: Column) -> Column:
    """Build the text that orders all changes of a table.

    `rank` is 0 for existing rows, which are older than any change, else 1. Ties of `sequence` are ordered by
    the object's key, by the time of its event (`micros`), and by the place in it.
    """
    return F.concat_ws(
        SEPARATOR,
        rank,
        sequence,
        key,
        F.lpad(micros.cast("string"), 17, "0"),
        F.lpad(row.cast("string"), 12, "0"),
    )


def build_shape(sequence: Column) -> Column:
    """Build the kinds of a sequence's parts, such as `nt`, with a dot for a null."""
    parts = F.split(sequence, SEPARATOR)
    return F.concat_ws(
        "", F.transform(parts, lambda part: F.when(part == "", ".").otherwise(part.substr(1, 1)))
    )


def _encode(value: Column, kind: DataType) -> Column:
    if isinstance(kind, DateType):
        return _encode_whole(F.unix_date(value))
    if isinstance(kind, TimestampType):
        return _encode_whole(F.unix_micros(value))
    if isinstance(kind, IntegralType) or (isinstance(kind, DecimalType) and kind.scale == 0):
        return _encode_whole(value)
    if isinstance(kind, FractionalType | DecimalType):
        exact = value.cast(DecimalType(38, FRACTION_DIGITS))
        whole = F.floor(exact)
        fraction = ((exact - whole) * 10**FRACTION_DIGITS).cast("long")
        digits = F.concat(F.lit("."), F.lpad(fraction.cast("string"), FRACTION_DIGITS, "0"))
        return F.concat(_encode_whole(whole), F.when(fraction != 0, digits).otherwise(""))
    return F.concat(F.lit(TEXT), value.cast("string"))


def _encode_whole(value: Column) -> Column:
    shifted = value.cast(DecimalType(DIGITS, 0)) + F.lit(Decimal(SHIFT))
    return F.concat(F.lit(NUMBER), F.lpad(shifted.cast("string"), DIGITS, "0"))

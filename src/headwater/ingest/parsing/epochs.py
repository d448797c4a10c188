"""Converts numbers to instants: seconds, milliseconds, microseconds or nanoseconds since 1970."""

from collections.abc import Mapping
from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F

# Each limit exceeds any value of the previous unit before the year 5138, and starts in 1973.
_LIMITS: Mapping[str, Decimal] = {
    "seconds": Decimal(10**11),
    "milliseconds": Decimal(10**14),
    "microseconds": Decimal(10**17),
    "nanoseconds": Decimal(10**20),
}
_MICROSECONDS: Mapping[str, Decimal] = {
    "seconds": Decimal(1_000_000),
    "milliseconds": Decimal(1_000),
    "microseconds": Decimal(1),
    "nanoseconds": Decimal("0.001"),
}
EARLIEST, LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The years 1 and 9999 in microseconds since 1970: the range of SQL, Python and Avro."""


def build_epoch(text: Column, unit: str) -> Column:
    """Return a number text's instant; null outside the years 1 to 9999. `auto`: by its magnitude."""
    number = text.cast("decimal(27,6)")
    if unit == "auto":
        micros = F.lit(None).cast("long")
        for name, limit in reversed(list(_LIMITS.items())):
            micros = F.when(F.abs(number) < F.lit(limit), _to_micros(number, name)).otherwise(micros)
    else:
        micros = _to_micros(number, unit)
    return F.when(micros.between(EARLIEST, LATEST), F.timestamp_micros(micros))


def _to_micros(number: Column, unit: str) -> Column:
    return (number * F.lit(_MICROSECONDS[unit])).cast("long")

"""Arrow batches to rows: plain Python values that JSON and a terminal can show.

Maps become objects, times with nanoseconds are cut to microseconds, decimals stay exact.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa

Row = dict[str, object]


def number_duplicates(names: Sequence[str]) -> tuple[str, ...]:
    """`id, id` as `id, id_2`: a row is an object, and its keys are unique."""
    found: list[str] = []
    for name in names:
        unique, number = name, 1
        while unique in found:
            number += 1
            unique = f"{name}_{number}"
        found.append(unique)
    return tuple(found)


def iter_rows(batch: pa.RecordBatch, columns: Sequence[str]) -> Iterator[Row]:
    """The batch's rows under the given names."""
    arrays = [_without_nanoseconds(array) for array in batch.columns]
    yield from pa.RecordBatch.from_arrays(arrays, names=list(columns)).to_pylist(maps_as_pydicts="lossy")


def _without_nanoseconds(array: pa.Array) -> pa.Array:
    # As nanoseconds they would come as pandas objects, and pandas takes half a second to import.
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        return array.cast(pa.timestamp("us", array.type.tz), safe=False)
    if pa.types.is_duration(array.type) and array.type.unit == "ns":
        return array.cast(pa.duration("us"), safe=False)
    return array

"""Converts Arrow batches to rows of plain Python values that JSON and a terminal can show.

Maps become objects, nanoseconds are truncated to microseconds, decimals stay exact. Times outside the years 1
to 9999, which Python cannot represent, become strings.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa

Row = dict[str, object]


def number_duplicates(names: Sequence[str]) -> tuple[str, ...]:
    """Return unique names, such as `id, id_2` for `id, id`, because a row is an object."""
    found: list[str] = []
    for name in names:
        unique, number = name, 1
        while unique in found:
            number += 1
            unique = f"{name}_{number}"
        found.append(unique)
    return tuple(found)


def iter_rows(batch: pa.RecordBatch, columns: Sequence[str]) -> Iterator[Row]:
    """Yield the batch's rows under the given names."""
    arrays = [_without_nanoseconds(array) for array in batch.columns]
    try:
        yield from pa.RecordBatch.from_arrays(arrays, names=list(columns)).to_pylist(maps_as_pydicts="lossy")
    except (ValueError, OverflowError):
        values = [[_to_plain(value) for value in array] for array in arrays]
        yield from (dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True))


def _to_plain(value: pa.Scalar) -> object:
    try:
        return value.as_py(maps_as_pydicts="lossy")
    except (ValueError, OverflowError):
        pass
    kind = value.type
    if pa.types.is_struct(kind):
        return {name: _to_plain(value[name]) for name in value}
    if pa.types.is_map(kind):
        pairs = value.values
        return {str(_to_plain(pair["key"])): _to_plain(pair["value"]) for pair in pairs}
    if pa.types.is_nested(kind):
        return [_to_plain(item) for item in value.values]
    return _write_time(value)


def _write_time(value: pa.Scalar) -> str:
    """Format a time outside the calendars of Python and Arrow from its exact count."""
    kind = value.type
    unit = "days" if pa.types.is_date(kind) else kind.unit
    return f"{value.value} {unit} since 1970-01-01"


def _without_nanoseconds(array: pa.Array) -> pa.Array:
    # Nanosecond values would be pandas objects, and importing pandas takes half a second.
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        return array.cast(pa.timestamp("us", array.type.tz), safe=False)
    if pa.types.is_duration(array.type) and array.type.unit == "ns":
        return array.cast(pa.duration("us"), safe=False)
    return array

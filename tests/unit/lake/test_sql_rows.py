"""Rows for people: values that Python cannot hold are texts, and never an error."""

from datetime import date, datetime, timezone

import pyarrow as pa

from headwater.lake.queries.rows import iter_rows

FAR = 1_777_716_000_123 * 10**6


def test_times_outside_of_pythons_years_are_texts() -> None:
    times = pa.array([FAR, 0, None], pa.timestamp("us", tz="UTC"))
    days = pa.array([10**7, 1, None], pa.int32()).cast(pa.date32())
    arrays = [
        times,
        days,
        pa.StructArray.from_arrays([times], names=["t"]),
        pa.ListArray.from_arrays([0, 1, 2, 3], times),
        pa.MapArray.from_arrays([0, 1, 2, 3], ["a", "b", "c"], days),
    ]
    rows = list(iter_rows(pa.RecordBatch.from_arrays(arrays, names=list("tdslm")), list("tdslm")))
    text, begin = f"{FAR} us since 1970-01-01", datetime(1970, 1, 1, tzinfo=timezone.utc)
    assert rows == [
        {"t": text, "d": "10000000 days since 1970-01-01", "s": {"t": text}, "l": [text]}
        | {"m": {"a": "10000000 days since 1970-01-01"}},
        {"t": begin, "d": date(1970, 1, 2), "s": {"t": begin}, "l": [begin], "m": {"b": date(1970, 1, 2)}},
        {"t": None, "d": None, "s": {"t": None}, "l": [None], "m": {"c": None}},
    ]

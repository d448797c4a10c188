"""Every type comes back as it was or by its documented rule: both table types, with and without a JVM."""

import datetime as dt
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row

from headwater.lake import find_address, queries
from tests.fixtures.folder_lake import FolderLake
from tests.fixtures.written_files import write_orc, write_parquet

UTC = dt.timezone.utc
DEEP = pa.struct(
    [("a", pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.struct([("z", pa.int32())]))))])))]
)
ODD_NAMES = pa.struct([(name, pa.int32()) for name in ("a-b", "a.b", "a b", "1x", "a_b")])
NESTED_NAMES = pa.list_(pa.struct([("a-b", pa.map_(pa.string(), pa.struct([("1 x", pa.int32())])))]))

# By column: the type in the file, two values, and what the table has of them if it is something else.
CASES: dict[str, tuple[Any, ...]] = {
    "void": (pa.null(), None, None),
    "array_void": (pa.list_(pa.null()), [None], []),
    "struct_void": (pa.struct([("x", pa.null())]), {"x": None}, None, (None,), None),
    "map_int": (pa.map_(pa.int32(), pa.string()), [(1, "a")], [(-2, None)], {"1": "a"}, {"-2": None}),
    "map_date": (
        pa.list_(pa.map_(pa.date32(), pa.int32())),
        [[(dt.date(2020, 1, 2), 1)]],
        [],
        [{"2020-01-02": 1}],
        [],
    ),
    "map_struct": (
        pa.map_(pa.struct([("k", pa.int32())]), pa.int32()),
        [({"k": 1}, 1)],
        [({"k": 2}, 2)],
        {'{"k":1}': 1},
        {'{"k":2}': 2},
    ),
    "map_bytes": (pa.map_(pa.binary(), pa.int32()), [(b"\xff", 1)], [], {"/w==": 1}, {}),
    "map_in_array": (
        pa.list_(pa.map_(pa.string(), pa.map_(pa.string(), pa.int64()))),
        [[("a", [("b", 1)])]],
        [[("a", [("b", 2)]), ("c", None)], None],
        [{"a": {"b": 1}}],
        [{"a": {"b": 2}, "c": None}, None],
    ),
    "odd_names": (ODD_NAMES, dict.fromkeys(ODD_NAMES.names, 1), None, (1, 1, 1, 1, 1), None),
    "nested_names": (NESTED_NAMES, [{"a-b": [("k.k", {"1 x": 1})]}], [], [({"k.k": (1,)},)], []),
    "tiny": (pa.int8(), 1, -128),
    "small": (pa.list_(pa.int16()), [1, None], [-32768]),
    "unsigned": (pa.uint64(), 2**64 - 1, 0, Decimal(2**64 - 1), Decimal(0)),
    "bytes": (pa.list_(pa.binary()), [b"\x00\xff"], [None, b""]),
    "wide": (pa.decimal128(38, 18), Decimal("12345678901234567890.123456789012345678"), Decimal("-1e-18")),
    "narrow": (pa.decimal128(1, 1), Decimal("0.1"), Decimal("-0.9")),
    "decimals": (pa.list_(pa.decimal128(20, 0)), [Decimal(1), None], []),
    "date": (pa.date32(), dt.date(1500, 1, 1), dt.date(1, 1, 1)),
    "time": (pa.timestamp("us", tz="UTC"), dt.datetime(1500, 1, 1), dt.datetime(9999, 12, 31, 23, 59)),
    "zoneless": (pa.timestamp("us"), dt.datetime(2020, 1, 1, 1), dt.datetime(1900, 1, 1)),
    "duration": (pa.list_(pa.duration("ms")), [dt.timedelta(seconds=90)], [], ["PT90.000S"], []),
    "float": (pa.float32(), float("-inf"), 1.5),
    "deep": (DEEP, {"a": [{"m": [("k", [{"z": 1}, None])]}]}, None, ([({"k": [(1,), None]},)],), None),
}  # fmt: skip
TABLE_TYPES = ["copy_on_write", "merge_on_read"]


def write(rows: Mapping[int, int]) -> bytes:
    """A file with the first or the second value of each column, by id."""
    columns = {
        name: pa.array([case[at + 1] for at in rows.values()], case[0]) for name, case in CASES.items()
    }
    return write_parquet({"id": pa.array(list(rows), pa.int64()), **columns})


def expect(name: str, at: int) -> Any:
    case = CASES[name]
    return plain(case[at + 3] if len(case) > 3 else case[at + 1])


def plain(value: Any) -> Any:
    """A value of Spark, of Arrow or of the table above in one form."""
    if isinstance(value, Row | tuple):
        return tuple(map(plain, value))
    if isinstance(value, list):
        is_map = bool(value) and all(isinstance(item, tuple) and len(item) == 2 for item in value)
        return plain(dict(value)) if is_map else [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    return bytes(value) if isinstance(value, bytearray) else value


def check(lake: FolderLake, rows: Mapping[int, int]) -> None:
    """By Spark each value; without a JVM all rows, and those values that have no nested names."""
    wanted = {(key, name): expect(name, at) for key, at in rows.items() for name in CASES}
    found = lake.table("t").read().select("id", *CASES).collect()
    assert {(r["id"], name): plain(r[name]) for r in found for name in CASES} == wanted
    arrow = queries.read(
        find_address(lake.settings, "t"), queries.Query.snapshot(), ["id", *CASES]
    ).to_pylist()
    assert sorted(r["id"] for r in arrow) == sorted(rows)
    # Arrow has structs as dicts, and an empty map as an empty list.
    flat = [name for name, case in CASES.items() if name == "map_struct" or not has_struct(case[0])]
    without = {(r["id"], name): plain(r[name]) or None for r in arrow for name in flat}
    assert without == {(key, name): value or None for (key, name), value in wanted.items() if name in flat}
    assert lake.quarantine("key") == []


def has_struct(kind: pa.DataType) -> bool:
    return pa.types.is_struct(kind) or any(has_struct(kind.field(n).type) for n in range(kind.num_fields))


def test_types_come_back_after_an_insert(build):
    lake = build(t={"path": "*.parquet", "record_key": "id"})
    lake.put("a.parquet", write({1: 0, 2: 1}))
    lake.ingest("t")
    check(lake, {1: 0, 2: 1})


@pytest.mark.slow
@pytest.mark.parametrize("table_type", TABLE_TYPES)
def test_types_come_back_after_updates(build, table_type):
    lake = build(t={"path": "*.parquet", "record_key": "id", "table_type": table_type})
    for name, rows in {"a": {1: 0, 2: 1}, "b": {1: 1, 3: 0}, "c": {2: 0, 3: 0}}.items():
        lake.put(f"{name}.parquet", write(rows))
        lake.ingest("t")
    check(lake, {1: 1, 2: 0, 3: 0})


@pytest.mark.slow
def test_types_of_an_orc_file_are_converted_by_the_same_rules(build):
    lake = build(t={"path": "*.orc", "record_key": "id"})
    kinds = {"m": pa.map_(pa.int32(), pa.string()), "s": pa.struct([("a-b", pa.int16())]), "t": pa.int8()}
    values = {"m": [[(1, "a")]], "s": [{"a-b": 2}], "t": [3]}
    arrays = {name: pa.array(values[name], kind) for name, kind in kinds.items()}
    lake.put("a.orc", write_orc(pa.table({"id": pa.array([1], pa.int64()), **arrays})))
    lake.ingest("t")
    assert lake.rows("t", "m", "s", "t") == [({"1": "a"}, Row(a_b=2), 3)]


@pytest.mark.slow
def test_declared_types_are_converted_by_the_same_rules(build):
    ddl = (
        "id int, e struct<>, c char(2), v varchar(2), n void, z timestamp_ntz, m map<int, struct<d: date>>, "
        "i interval day to second"
    )
    lake = build(t={"path": "*.json", "record_key": "id", "schema": ddl})
    record = {"id": 1, "e": {}, "c": "long", "v": "long", "n": 7, "i": "INTERVAL '1' DAY"}
    record |= {"z": "1500-01-01T00:00:00", "m": {"1": {"d": "1500-01-01"}}}
    for name in ("a", "b"):
        lake.put(f"{name}.json", json.dumps(record) + "\n")
        lake.ingest("t")
    old = dt.datetime(1500, 1, 1)
    expected = ("{}", "long", "long", "7", old, {"1": Row(d=old.date())}, "INTERVAL '1' DAY")
    assert lake.rows("t", "e", "c", "v", "n", "z", "m", "i") == [expected]


@pytest.mark.slow
def test_types_that_a_transform_makes_are_converted_by_the_same_rules(build):
    day = "PT93600.500000S"
    made = {
        "n": ("null", None),
        "m": ("map(named_struct('k', 1), interval '1 02:00:00.5' day to second)", {'{"k":1}': day}),
        "y": ("array(interval '1-2' year to month)", ["P14M"]),
        "s": ("named_struct('a-b', 1, 'c', cast(2 as tinyint))", Row(a_b=1, c=2)),
        "z": ("timestamp_ntz '2020-01-01 00:00:00'", dt.datetime(2020, 1, 1)),
    }
    columns = ", ".join(f"{text} as {name}" for name, (text, _) in made.items())
    step = {"sql": f"select _headwater_source, id, {columns} from input"}
    lake = build(t={"path": "*.json", "record_key": "id", "transform": [step]})
    for name in ("a", "b"):
        lake.put(f"{name}.json", '{"id": 1}\n')
        lake.ingest("t")
    assert lake.rows("t", *made) == [tuple(value for _, value in made.values())]

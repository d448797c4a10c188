"""An object that Spark reads in splits gives the rows, numbers and quarantine that it gives read whole."""

import bz2
import gzip
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

from headwater.capture.position import BEGINNING
from headwater.ingest.planning.decision import Decision
from headwater.ingest.reading.large_objects import LargeObjectReader
from headwater.ingest.reading.object_reader import ReaderConfig
from headwater.ingest.reading.resolution import build_requests
from headwater.sources.object_store import ObjectStoreConfig
from tests.fixtures.folder_lake import FolderLake
from tests.fixtures.written_files import write_orc, write_parquet

pytestmark = pytest.mark.slow

COUNT = 3_000
PADDING = "x" * 40


def build_json() -> str:
    lines = [f'{{"n": {n}, "text": "é{PADDING}"}}' for n in range(COUNT)]
    lines[0], lines[100], lines[200], lines[300], lines[-1] = "", "broken", " \t ", '{"n": "a"}', "{}"
    return "\n".join(lines)


def build_csv(header: str, row: str) -> str:
    lines = [row.format(n=n, text=PADDING) for n in range(COUNT)]
    lines[7], lines[100], lines[300] = "  ", "1", "1,2,3,4,5"
    return "\r\n".join(["", "# comment", header, *lines]) + "\r\n"


def build_columns(**changes: Any) -> pa.Table:
    columns = {
        "n": pa.array(range(COUNT), pa.int64()),
        "text": pa.array([None if n % 5 == 0 else f"é{n}{PADDING}" for n in range(COUNT)]),
        "seen": pa.array([datetime(2026, 5, 2, 1, 2, 3, n) for n in range(COUNT)], pa.timestamp("us")),
        "at": pa.array([{"x": n} for n in range(COUNT)], pa.struct([("x", pa.int32())])),
    }
    return pa.table(columns | changes)


JSON, CSV = build_json(), build_csv("n,text", "{n},a{text}")
TEXT = "\n".join(["", " ", *(f"line {n} {PADDING}" for n in range(COUNT)), "\tlast"])
SPLIT_PARQUET = {"row_group_size": 500, "compression": "none"}
ODD_NAME = "a b+%41#?[x]{y}*ü'.json"

# Each becomes two tables, of which one reads it whole and one in splits.
CASES: dict[str, tuple[dict[str, Any], dict[str, bytes | str]]] = {
    "json": (
        {"schema": "n bigint, text string"},
        {"a.json": JSON, "b.json.gz": gzip.compress(JSON.encode())},
    ),
    "inferred": (
        {"format": "json"},
        {"a.json.bz2": bz2.compress(b'{"n": 1, "deep": {"x": [1.5]}}\n' * 9)},
    ),
    "names": (
        {"format": "json"},
        dict.fromkeys(
            (ODD_NAME, "_hidden.json", ".dot.json", "q/a:b.json"), f'{{"n": 1, "text": "{PADDING}"}}\n' * 30
        ),
    ),
    "arrays": (
        {"schema": "n bigint"},
        {
            "a.json": '{"n": 1}\n' * 300 + '\t[{"n": 2}, {"n": 3}]\n' + '{"n": 4}\n',
            "b.json": '{"n": 5}\n' * 300,
        },
    ),
    "long": (
        {"schema": "n bigint, text string", "max_record_bytes": "1kb"},
        {
            "first.json": f'{{"text": "{PADDING * 30}"}}\n' + '{"n": 1}\n' * 500,
            "middle.json": '{"n": 2}\r\n' * 500 + f'{{"text": "é{PADDING * 30}"}}\r\n' + '{"n": 3}\r\n' * 90,
            "last.json": '{"n": 4}\n' * 500 + PADDING * 30,
            "crlf.json": '{"n": 5}\r\n' * COUNT,
            "largest.json": f'{{"n": 6, "text": "{"x" * (1_000 - 20)}"}}\n' * 90,
            "array.json": "[" + ", ".join(f'{{"n": {n}}}' for n in range(COUNT)) + "]",
        },
    ),
    "long_packed": (
        {"schema": "n bigint, text string", "max_record_bytes": "1kb"},
        {"a.json.gz": gzip.compress(f'{{"n": 1}}\n{{"text": "{PADDING * 30}"}}\n'.encode() * 30)},
    ),
    "disguised": (
        {"schema": "n bigint, text string"},
        {
            "no-ending.json": gzip.compress(JSON.encode()),
            "utf-16.json": "".join(f'{{"n": {n}}}\n' for n in range(200)).encode("utf-16"),
            "other.json": write_parquet({"n": list(range(500))}),
        },
    ),
    "csv": (
        {"format": "csv", "schema": "n bigint, text string", "options": {"header": True, "comment": "#"}},
        {
            "a.csv": CSV,
            "reordered.csv": build_csv("text,N,extra", "a{text},{n},z"),
            "fewer.csv": build_csv("n", "{n}"),
            "foreign.csv": build_csv("some,thing", "{n},{text}"),
            "a.csv.gz": gzip.compress(CSV.encode()),
        },
    ),
    "headless": ({"format": "csv"}, {"a.csv": build_csv("0,y", "{n},a{text}").replace("# comment\r\n", "")}),
    "text": (
        {"format": "text"},
        {"a.txt": TEXT.encode() + b"\xff\xfe bytes \n", "b.txt.gz": gzip.compress(TEXT.encode())},
    ),
    "parquet": (
        {"format": "parquet"},
        {
            "a.parquet": write_parquet(build_columns(), **SPLIT_PARQUET),
            "narrow.parquet": write_parquet(
                build_columns(n=pa.array(range(COUNT), pa.int32())), **SPLIT_PARQUET
            ),
            "more.parquet": write_parquet(build_columns(more=pa.array([1] * COUNT)), **SPLIT_PARQUET),
            "wrong.parquet": write_parquet(build_columns(n=pa.array(["a"] * COUNT)), **SPLIT_PARQUET),
        },
    ),
    "orc": (
        {"format": "orc"},
        {"a.orc": write_orc(build_columns(seen=pa.array(range(COUNT))), compression="uncompressed")},
    ),
}
# These are split by the same code as others above them.
OFTEN_OR_LONG = [
    pytest.param(name, marks=pytest.mark.long) if name in ("headless", "text", "arrays", "orc") else name
    for name in CASES
]
KEEPS_COLUMNS = ("table", "level", "reason", "key", "line", "payload")


def build_tables() -> dict[str, dict[str, Any]]:
    tables = {}
    for name, (table, _) in CASES.items():
        tables[f"{name}_whole"] = {"path": f"{name}/**", "format": "json", **table}
        tables[f"{name}_split"] = tables[f"{name}_whole"] | {"large_file_bytes": "200"}
    return tables


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory) -> Iterator[FolderLake]:
    # Small enough that the files below have several splits, not so small that Hudi's own have hundreds.
    settings = {"spark.sql.files.maxPartitionBytes": "65536", "spark.sql.files.openCostInBytes": "4096"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    lake = FolderLake(spark, tmp_path_factory.mktemp("large"), **build_tables())
    lake.put_many(
        (f"{name}/{key}", data) for name, (_, files) in CASES.items() for key, data in files.items()
    )
    yield lake
    for name in settings:
        spark.conf.unset(name)


@pytest.mark.parametrize("name", OFTEN_OR_LONG)
def test_object_read_in_splits_equals_complete_read(lake, name):
    results = {}
    for kind in ("whole", "split"):
        table = f"{name}_{kind}"
        (batch,) = lake.ingest(table)
        columns = [c for c in lake.columns(table) if not c.startswith("_")]
        rows = lake.rows(table, "_headwater_object", "_headwater_row", "_headwater_version", *columns)
        bad = sorted(row[1:] for row in lake.quarantine(*KEEPS_COLUMNS) if row[0] == table)
        results[kind] = (columns, rows, bad, dict(batch.objects), batch.bad_rows)
    assert results["split"] == results["whole"]
    assert results["whole"][1]


def test_broken_large_object_is_quarantined_and_the_others_land_with_their_numbers(build):
    good = {
        f"{name}.json": "".join(f'{{"n": {n}, "text": "{PADDING}"}}\n' for n in range(COUNT))
        for name in "ace"
    }
    lake = build(big={"path": "*", "format": "json", "large_file_bytes": "1kb"})
    files: dict[str, bytes | str] = {
        **good,
        "b.json.gz": gzip.compress(good["a.json"].encode())[:-20],
        "d.json.bz2": bz2.compress(good["a.json"].encode())[:-20],
    }
    lake.put_many(files.items())
    (batch,) = lake.ingest("big")
    assert dict(batch.objects) == {"ingested": 3, "quarantined": 2}
    rows = lake.rows("big", "_headwater_object", "_headwater_row", "n")
    expected = [(str(lake.source / name), n + 1, n) for name in good for n in range(COUNT)]
    assert rows == sorted(expected)
    assert lake.quarantine("reason", "key") == [("unparsable", "b.json.gz"), ("unparsable", "d.json.bz2")]


def test_broken_pages_of_a_large_parquet_object_do_not_stop_the_others(build):
    good = write_parquet(build_columns(), row_group_size=500, compression="zstd")
    # The footer is whole, so only whoever decodes the pages notices.
    part = len(good) // 4
    broken = good[:part] + bytes(part) + good[2 * part :]
    lake = build(big={"path": "*.parquet", "large_file_bytes": "1kb"})
    lake.put_many([("a.parquet", good), ("b.parquet", broken)])
    (batch,) = lake.ingest("big")
    assert dict(batch.objects) == {"ingested": 1, "quarantined": 1}
    assert len(lake.rows("big", "n")) == COUNT


def test_large_object_that_went_or_changed_is_treated_like_a_small_one(build):
    lake = build(big={"path": "*.json", "large_file_bytes": "1kb"})
    lake.put("gone.json", '{"n": 1}\n' * 200)
    (lake.source / "gone.json").unlink()
    lake.put("changed.json", '{"n": 1}\n' * 200)
    lake.write("changed.json", '{"n": 2}\n' * 300)
    lake.put("same.json", '{"n": 3}\n' * 200)
    lake.ingest("big")
    assert lake.rows("big", "n") == [(3,)] * 200
    assert lake.quarantine("reason", "key") == [("missing", "gone.json")]


def test_large_object_of_a_mirror_that_changed_is_read_as_it_is_now(build):
    lake = build(big={"path": "*.json", "mode": "mirror", "large_file_bytes": "1kb"})
    lake.put("changed.json", '{"n": 1}\n' * 200)
    lake.write("changed.json", '{"n": 2}\n' * 300)
    lake.ingest("big")
    assert lake.rows("big", "n") == [(2,)] * 300


EXPECTED_SPLITS = {
    "json": {"a.json", "b.json.gz"},
    "inferred": {"a.json.bz2"},
    # Spark takes names that begin with a dot or an underscore for no data.
    "names": {ODD_NAME},
    "arrays": {"b.json"},
    # Spark has left out a line of the others.
    "long": {"crlf.json", "largest.json"},
    "long_packed": {"a.json.gz"},
    "disguised": set(),
    "csv": {"a.csv", "a.csv.gz", "reordered.csv", "fewer.csv"},
    "headless": {"a.csv"},
    "text": {"a.txt", "b.txt.gz"},
    # Of the others, one has a type to be widened and one a type that does not fit.
    "parquet": {"a.parquet", "more.parquet"},
    "orc": {"a.orc"},
}


@pytest.mark.parametrize("name", OFTEN_OR_LONG)
def test_only_objects_unsafe_to_split_are_read_completely(spark, lake, name):
    lake.ingest(f"{name}_whole")
    state = lake.state(f"{name}_whole")
    table = lake.settings.tables[f"{name}_split"]
    config = ReaderConfig(
        ObjectStoreConfig("local"),
        table.effective_format,
        table.options,
        state.schema,
        max_object_bytes=2**30,
        max_record_bytes=int(table.max_record_bytes),
    )
    events = lake.app.events.read_after(BEGINNING, 1_000).events
    chosen = [stored for stored in events if stored.event.key.startswith(f"{name}/")]
    requests = build_requests([Decision(stored, "read") for stored in chosen])
    found = LargeObjectReader(spark, config).read(requests)
    assert {request.ref.key.removeprefix(f"{name}/") for request in found.split} == EXPECTED_SPLITS[name]
    assert {*found.split, *found.whole} == set(requests)

"""What `headwater init` writes for a folder of many kinds of files is ingested by `run --once` unchanged."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fixtures.end_to_end.command import run_command

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

FILES = {
    "quotes/a.csv": b'id,name\n1,"a, ""b"""\n2,"c\nd"\n',
    "semicolons/a.csv": b"id;amount\n1;1,5\n2;2,5\n",
    "headless/a.csv": b"1,foo,2026-01-01\n2,bar,2026-01-02\n",
    "latin/a.csv": "id,name\n1,J\u00fcrg\n2,Ada\n".encode("latin-1"),
    "nested/a.json": b'{"id": 1, "address": {"city": null}, "tags": null}\n{"id": 2, "tags": ["a"]}\n',
    "documents/a.json": json.dumps({"id": 1, "tags": []}, indent=2).encode(),
    "documents/b.json": json.dumps({"id": 2, "tags": []}, indent=2).encode(),
    "days/day=2026-01-01/a.json.gz": gzip.compress(b'{"id": 1}\n'),
    "days/day=2026-01-02/a.json.gz": gzip.compress(b'{"id": 2}\n'),
    "stores/a.csv": b"id,amount\n1,5\n",
    "stores/b.csv": b"id,amount\n1,6\n",
    "visits/a.csv": b"page,ms\n/,1\n/,1\n",
}


def test_many_kinds_of_files_become_two_rows_each(tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    for name, content in FILES.items():
        (landing / name).parent.mkdir(parents=True, exist_ok=True)
        (landing / name).write_bytes(content)
    (landing / "typed").mkdir()
    pq.write_table(pa.table({"id": [1, 2], "v": [1.5, None]}), landing / "typed" / "a.parquet")
    run_command("init", folder=tmp_path, timeout=60).expect(0)
    run_command("run", "--once", folder=tmp_path, timeout=500).expect(0)
    tables = sorted({name.split("/")[0] for name in FILES} | {"typed"})
    counts = " union all ".join(f"select '{name}' as name, count(*) as n from {name}" for name in tables)
    rows = run_command("sql", counts, "--json", folder=tmp_path, timeout=120).expect(0).stdout
    found = {row["name"]: row["n"] for row in map(json.loads, rows.splitlines())}
    assert found == dict.fromkeys(tables, 2)

"""A scan reads the key columns of every data file of a table, and says which files it cannot read."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from headwater.lake.erasure.scanning import Search, find_in_payload, scan_files
from headwater.lake.erasure.subjects import Secret, SubjectHasher
from headwater.lake.file_store import FileStore

HASHER = SubjectHasher.of(Secret(b"s" * 32), ("customer",))
BOB = HASHER.hash(["bob"])
SEARCH = Search(((HASHER, frozenset({BOB})),))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def scan(folder: Path, search: Search = SEARCH):
    return scan_files(FileStore(str(folder), dict), search)


def write(path: Path, **columns: Sequence[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)


def test_file_with_the_subject_is_found_with_its_rows_and_file_group(folder: Path) -> None:
    write(folder / "p=1" / "f1-0_0-1-2_20260101000000000.parquet", customer=["ann", "bob", "bob"])
    write(folder / "f2-0_0-1-2_20260101000000000.parquet", customer=["ann", None])
    found = scan(folder)
    assert found.files == 2
    assert [(one.path, dict(one.rows)) for one in found.found] == [
        ("p=1/f1-0_0-1-2_20260101000000000.parquet", {BOB: 2})
    ]
    assert found.file_ids == {"f1-0"}


def test_columns_ignore_case_and_older_files_may_lack_them(folder: Path) -> None:
    write(folder / "a.parquet", Customer=["bob"])
    write(folder / "b.parquet", other=["bob"])
    assert [one.path for one in scan(folder).found] == ["a.parquet"]


def test_whole_numbers_match_in_columns_of_any_numeric_type(folder: Path) -> None:
    hasher = SubjectHasher.of(Secret(b"s" * 32), ("id",))
    search = Search(((hasher, frozenset({hasher.hash(["17"])})),))
    columns: Mapping[str, Sequence[object]] = {"int": [17, 1], "double": [17.0, 1.5], "text": ["17", "x"]}
    for name, values in columns.items():
        write(folder / f"{name}.parquet", id=values)
    assert [one.path for one in scan(folder, search).found] == [
        "double.parquet",
        "int.parquet",
        "text.parquet",
    ]


def test_log_files_and_unusable_columns_are_not_ruled_out(folder: Path) -> None:
    (folder / ".f1-0_20260101000000000.log.1_0-1-2").write_bytes(b"#HUDI#")
    (folder / ".f1-0_20260101000000000.log.1_0-1-2.cdc").write_bytes(b"#HUDI#")
    write(folder / "x.parquet", customer=[{"name": "bob"}])
    assert [one.unreadable for one in scan(folder).found] == [
        "a log file",
        "a change log",
        "column customer of type struct<name: string> has no keys",
    ]
    assert scan(folder).file_ids == {"f1-0"}


def test_log_files_of_later_commits_are_ruled_out(folder: Path) -> None:
    for instant in ("20260101000000000", "20260101000000001"):
        (folder / f".f1-0_{instant}.log.1_0-1-2").write_bytes(b"#HUDI#")
    found = scan(folder, Search(SEARCH.lists, cleared="20260101000000000")).found
    assert [one.path for one in found] == [".f1-0_20260101000000000.log.1_0-1-2"]


def test_timeline_and_markers_are_no_data(folder: Path) -> None:
    write(folder / ".hoodie" / "metadata" / "x.parquet", customer=["bob"])
    (folder / ".hoodie_partition_metadata").write_bytes(b"bob")
    assert scan(folder).files == 0


def test_payload_names_a_subject_at_any_depth() -> None:
    assert find_in_payload('{"after": [{"Customer": "bob"}]}', SEARCH) == {BOB: 1}
    for other in ('{"customer": "ann"}', "bob", '{"customer": ["bob"]}', None, "[" * 100_000):
        assert not find_in_payload(other, SEARCH)


def test_payloads_of_the_table_are_scanned(folder: Path) -> None:
    write(folder / "q.parquet", table=["orders", "other"], payload=['{"customer": "bob"}'] * 2)
    search = Search(SEARCH.lists, payloads_of="orders")
    assert [dict(one.rows) for one in scan(folder, search).found] == [{BOB: 1}]

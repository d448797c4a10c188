"""Inventory reports: what is taken from them, and what is refused."""

import json
import tracemalloc
from collections.abc import Generator, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.errors import HeadwaterError, SourceError, UsageError
from headwater.sources import external_sort
from headwater.sources.external_sort import ROW_SCHEMA
from headwater.sources.lister import ListedObject
from headwater.sources.s3.inventory.lister import LocalFiles, S3InventoryLister
from tests.fixtures.listing.inventory import CREATED_AT, CSV_SCHEMA, InventoryRow, write_inventory

WHEN = datetime(2026, 5, 1, 10, 20, 30, tzinfo=timezone.utc)
FORMATS = ("CSV", "Parquet", "ORC")


def build_row(key: str, version: str | None = None, **flags: bool) -> InventoryRow:
    return InventoryRow(ListedObject(key, 7, f"etag-{key}-{version}", version, WHEN), **flags)


def open_report(manifest: Path, bucket: str = "landing") -> S3InventoryLister:
    return S3InventoryLister(str(manifest), bucket, LocalFiles())


def edit(manifest: Path, **changes: object) -> Path:
    data = json.loads(manifest.read_text())
    manifest.with_suffix(".checksum").unlink()
    manifest.write_text(json.dumps(data | changes))
    return manifest


@pytest.mark.parametrize("file_format", FORMATS)
def test_object_attributes_are_exact(tmp_path: Path, file_format: str) -> None:
    row = build_row("a b+c%41.json", "v1")
    lister = open_report(write_inventory(tmp_path, file_format, [[row]]))
    assert list(lister.iter_objects()) == [row.listed]
    assert lister.manifest.created_at == CREATED_AT


@pytest.mark.parametrize("file_format", FORMATS)
def test_only_current_versions_that_are_there_count(tmp_path: Path, file_format: str) -> None:
    rows = [
        build_row("kept", "v2"),
        build_row("kept", "v1", is_latest=False),
        build_row("gone", "v3", is_delete_marker=True),
        build_row("gone", "v1", is_latest=False),
    ]
    lister = open_report(write_inventory(tmp_path, file_format, [rows]))
    assert [(found.key, found.version_id) for found in lister.iter_objects()] == [("kept", "v2")]


def test_a_file_with_another_checksum_is_refused_before_anything_is_listed(tmp_path: Path) -> None:
    manifest = write_inventory(tmp_path, "CSV", [[build_row("a")], [build_row("b")]])
    damaged = next(tmp_path.rglob("0001.csv.gz"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(SourceError, match=r"0001\.csv\.gz .* MD5") as failure:
        next(open_report(manifest).iter_objects())
    assert "again" in failure.value.hint


def test_a_manifest_that_its_checksum_does_not_bear_out_is_refused(tmp_path: Path) -> None:
    manifest = write_inventory(tmp_path, "CSV", [[build_row("a")], [build_row("b")]])
    data = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(data | {"files": data["files"][:1]}))
    with pytest.raises(
        SourceError, match=r"manifest\.json does not match its checksum file .* MD5"
    ) as failure:
        next(open_report(manifest).iter_objects())
    assert "again" in failure.value.hint


def test_a_copied_report_may_come_without_its_checksum(tmp_path: Path) -> None:
    manifest = write_inventory(tmp_path, "CSV", [[build_row("a")]])
    manifest.with_suffix(".checksum").unlink()
    assert [found.key for found in open_report(manifest).iter_objects()] == ["a"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    manifest = write_inventory(tmp_path, "CSV", [[build_row("a")]])
    next(tmp_path.rglob("0000.csv.gz")).unlink()
    with pytest.raises(UsageError, match=r"0000\.csv\.gz"):
        next(open_report(manifest).iter_objects())


def test_a_report_of_another_bucket_is_refused(tmp_path: Path) -> None:
    manifest = write_inventory(tmp_path, "CSV", [[build_row("a")]], bucket="other")
    with pytest.raises(UsageError, match="bucket other") as failure:
        next(open_report(manifest).iter_objects())
    assert "landing" in failure.value.hint


@pytest.mark.parametrize(
    ("changes", "expected_message"),
    [
        ({"fileFormat": "Avro"}, "Avro"),
        ({"files": None}, "not the manifest"),
        ({"files": [{"key": "k"}]}, "not the manifest"),
        ({"creationTimestamp": "yesterday"}, "not the manifest"),
        ({"fileSchema": CSV_SCHEMA.replace(", ETag", "")}, "no ETag"),
    ],
)
def test_a_manifest_that_is_none_is_explained(
    tmp_path: Path, changes: dict[str, object], expected_message: str
) -> None:
    manifest = edit(write_inventory(tmp_path, "CSV", [[build_row("a")]]), **changes)
    with pytest.raises(HeadwaterError, match=expected_message) as failure:
        next(open_report(manifest).iter_objects())
    assert failure.value.exit_code == 2


@pytest.mark.parametrize("text", ["", "{not json", "[]", "7"])
def test_text_that_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="not the manifest"):
        next(open_report(path).iter_objects())


@pytest.mark.parametrize(("written", "claimed"), [("CSV", "Parquet"), ("CSV", "ORC"), ("Parquet", "CSV")])
def test_files_of_another_format_than_claimed_are_explained(
    tmp_path: Path, written: str, claimed: str
) -> None:
    manifest = write_inventory(tmp_path, written, [[build_row("a")]])
    edit(manifest, fileFormat=claimed, fileSchema=CSV_SCHEMA)
    with pytest.raises(SourceError, match=f"cannot be read as {claimed}"):
        list(open_report(manifest).iter_objects())


def test_nothing_stays_behind_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    manifest = write_inventory(tmp_path, "CSV", [[build_row("a"), build_row("b")]])
    listing = open_report(manifest).iter_objects()
    next(listing)
    assert list(temporary.iterdir())
    assert isinstance(listing, Generator)
    listing.close()
    assert not list(temporary.iterdir())


def test_more_runs_than_are_merged_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_sort, "RUN_ROWS", 10)
    monkeypatch.setattr(external_sort, "FAN_IN", 3)
    rows = [
        replace(build_row(f"{at * 7919 % 1000:04d}").listed, last_modified=WHEN + timedelta(microseconds=at))
        for at in range(1000)
    ]
    table = pa.Table.from_pylist(
        [{name: getattr(row, name) for name in ROW_SCHEMA.names} for row in rows], schema=ROW_SCHEMA
    )
    batches = table.to_batches(max_chunksize=10)
    found = list(external_sort.iter_sorted(batches, tmp_path))
    assert found == sorted(rows, key=lambda row: row.key)


def test_memory_of_the_merge_does_not_grow_with_the_number_of_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external_sort, "RUN_ROWS", 5_000)
    monkeypatch.setattr(external_sort, "FAN_IN", 4)

    def make(count: int) -> Iterator[pa.RecordBatch]:
        for at in range(0, count, 5_000):
            keys = [f"{key * 2_654_435_761 % 2**32:010d}" for key in range(at, at + 5_000)]
            columns = [keys, [1] * 5_000, keys, [None] * 5_000, [WHEN] * 5_000]
            arrays = [pa.array(values, field.type) for values, field in zip(columns, ROW_SCHEMA, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=ROW_SCHEMA)

    def measure(count: int) -> int:
        folder = tmp_path / str(count)
        folder.mkdir()
        objects = external_sort.iter_sorted(make(count), folder)
        next(objects)
        tracemalloc.start()
        try:
            assert sum(1 for _ in objects) == count - 1
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert measure(80_000) < 2 * measure(20_000)

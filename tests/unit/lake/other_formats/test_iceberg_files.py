"""Which metadata file of an Iceberg table is current, and which snapshots it lists."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import LakeError
from headwater.lake.other_formats.iceberg_files import (
    IcebergVersions,
    find_newest,
    parse_metadata,
    split_address,
)
from headwater.lake.table_files import ArrowFiles


def build(snapshots: list[tuple[int, int | None]], current: int | None, **more: Any) -> dict[str, Any]:
    return {
        "table-uuid": "table",
        "location": "/x",
        "current-snapshot-id": current,
        "current-schema-id": 1,
        "schemas": [{}, {}],
        "snapshots": [
            {
                "snapshot-id": number,
                **({"parent-snapshot-id": parent} if parent else {}),
                "timestamp-ms": 1700000000000 + number,
                "schema-id": 1,
                "summary": {"operation": "append", "total-delete-files": "0"},
            }
            for number, parent in snapshots
        ],
        **more,
    }


@pytest.mark.parametrize(
    ("names", "newest"),
    [
        ([], None),
        (["version-hint.text", "snap-1-1-x.avro"], None),
        (["v9.metadata.json", "v10.metadata.json"], "v10.metadata.json"),
        (["v1.metadata.json", "v2.gz.metadata.json"], "v2.gz.metadata.json"),
        (["00001-b.metadata.json", "00000-a.metadata.json"], "00001-b.metadata.json"),
        # Of two writers, one has not committed.
        (
            ["00001-a.metadata.json", "00002-b.metadata.json", "00002-c.metadata.json"],
            "00001-a.metadata.json",
        ),
        (
            ["00002-b.metadata.json", "00002-c.metadata.json", "00003-d.metadata.json"],
            "00003-d.metadata.json",
        ),
    ],
)
def test_the_newest_file_has_the_highest_number(names: list[str], newest: str | None) -> None:
    assert find_newest(names) == newest


def test_the_history_is_that_of_the_current_snapshot() -> None:
    given = build([(1, None), (2, 1), (3, 2), (4, 2)], current=4)
    assert parse_metadata("x", json.dumps(given).encode()).history.versions == ("1", "2", "4")
    packed = gzip.compress(json.dumps(build([(2, 1), (3, 2)], current=2)).encode())
    # Snapshot 1 has expired, and snapshot 3 was rolled back.
    assert parse_metadata("x", packed).history.versions == ("2",)


@pytest.mark.parametrize("current", [None, -1])
def test_a_table_without_rows_has_no_versions(current: int | None) -> None:
    assert parse_metadata("x", json.dumps(build([], current)).encode()).history.versions == ()


@pytest.mark.parametrize(
    ("more", "schema"),
    [({}, 1), ({"schemas": [{}]}, None), ({"schemas": None, "current-schema-id": None}, None)],
)
def test_columns_are_known_by_the_schema(more: dict[str, Any], schema: int | None) -> None:
    given = {name: value for name, value in build([(1, None)], 1, **more).items() if value is not None}
    found = parse_metadata("x", json.dumps(given).encode())
    # A snapshot of a writer that records no schemas has none in common with the table.
    assert found.schema_id == (schema if "schemas" in given else -1)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"null", b'{"snapshots": [{}], "location": "/x"}', b"\x1f\x8bx"]
)
def test_other_files_are_an_error(content: bytes) -> None:
    with pytest.raises(LakeError, match="x is not a metadata file of an Iceberg table"):
        parse_metadata("x", content)


def test_an_address_may_be_that_of_a_file(tmp_path: Path) -> None:
    assert split_address("s3a://x/y") == ("s3a://x/y", "")
    assert split_address("s3a://x/y/metadata/v3.metadata.json") == ("s3a://x/y", "v3.metadata.json")
    folder = tmp_path / "metadata"
    folder.mkdir()
    for number in (1, 2):
        snapshots = [(at, at - 1 or None) for at in range(1, number + 1)]
        (folder / f"v{number}.metadata.json").write_text(json.dumps(build(snapshots, number)))
    files = ArrowFiles(str(tmp_path), {})
    assert IcebergVersions(str(tmp_path), files).list_versions() == ("1", "2")
    first = IcebergVersions(str(folder / "v1.metadata.json"), files)
    assert first.list_versions() == ("1",)
    assert first.find_time("1").committed_at is not None
    assert first.find_time("2").committed_at is None
    assert not IcebergVersions(str(folder / "v9.metadata.json"), files).exists()

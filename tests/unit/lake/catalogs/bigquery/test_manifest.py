"""The manifest: a URI a line, and never half of it."""

import threading
from pathlib import Path

from headwater.lake.catalogs.bigquery.manifest import build_manifest_uri, read_manifest, write_manifest


def test_each_file_is_a_line_and_read_again_in_order(tmp_path: Path) -> None:
    files = (f"{tmp_path}/day=Zürich b+c/2.parquet", f"{tmp_path}/day=1/1.parquet")
    write_manifest(str(tmp_path), files)
    written = tmp_path / ".hoodie/absolute-path-manifest/latest-snapshot.csv"
    assert written.read_text("utf-8") == f"{files[0]}\n{files[1]}\n"
    assert read_manifest(str(tmp_path)) == (files[1], files[0])


def test_no_manifest_is_not_an_empty_one(tmp_path: Path) -> None:
    assert read_manifest(str(tmp_path)) is None
    write_manifest(str(tmp_path), ())
    assert read_manifest(str(tmp_path)) == ()


def test_manifest_has_the_path_of_hudis_tool() -> None:
    uri = build_manifest_uri("gs://acme-lake/bronze/orders/")
    assert uri == "gs://acme-lake/bronze/orders/.hoodie/absolute-path-manifest/latest-snapshot.csv"


def test_reader_sees_either_the_old_or_the_new_manifest(tmp_path: Path) -> None:
    location = str(tmp_path)
    states = [tuple(f"{location}/{letter}/{n:05d}" for n in range(5_000)) for letter in "ab"]
    write_manifest(location, states[0])
    has_ended = threading.Event()

    def write() -> None:
        for number in range(100):
            write_manifest(location, states[number % 2])
        has_ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not has_ended.is_set():
        found = read_manifest(location)
        assert found in states
        seen.add(found)
        names = [path.name for path in (tmp_path / ".hoodie/absolute-path-manifest").iterdir()]
        assert names == ["latest-snapshot.csv"]
    writer.join()
    assert len(seen) == 2

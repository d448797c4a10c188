"""What every lister does, run on every one of them; S3 as a real server process, inventories as files."""

import random
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

import pytest

from headwater.sources.azure.lister import AzureLister
from headwater.sources.gcs.lister import GcsLister
from headwater.sources.lister import ListedObject, Lister
from headwater.sources.local.lister import LocalLister
from headwater.sources.memory.lister import MemoryLister
from headwater.sources.parallel_lister import ParallelLister
from headwater.sources.s3.inventory.lister import LocalFiles, S3InventoryLister
from headwater.sources.s3.lister import S3Lister
from tests.fixtures.azure import Container
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.google import Storage
from tests.fixtures.listing.inventory import InventoryRow, write_inventory

WHEN = datetime(2026, 5, 1, tzinfo=timezone.utc)
ODD_KEYS = (
    "a b+c.json",
    "a%41b.json",
    "a%2Fb.json",
    "100%.json",
    "quote\"'.json",
    "#hash&x=1?.json",
    "day=2026-01-01/übergröße-日本-😀.json",
    "brace{a,b}[c]*.json",
    "a.txt",
    "a/b.txt",
    "a/b/c.txt",
    "a0.txt",
    "\ufb00-before-the-surrogates",
    "😀-behind-them",
)
KINDS = (
    "memory",
    "parallel",
    "local",
    "s3",
    "gcs",
    "azure",
    "inventory-CSV",
    "inventory-Parquet",
    "inventory-ORC",
)

Build = Callable[[Iterable[str]], Lister]


def build_listed(key: str) -> ListedObject:
    return ListedObject(key, len(key), f"etag-{key.encode().hex()}", None, WHEN)


def build_inventory(folder: Path, file_format: str, keys: list[str]) -> Lister:
    rows = [InventoryRow(build_listed(key)) for key in keys]
    random.Random(5).shuffle(rows)
    manifest = write_inventory(folder, file_format, [rows[::2], rows[1::2]])
    return S3InventoryLister(str(manifest), "landing", LocalFiles())


Place = TypeVar("Place", Storage, Container)


def put_with(place: Place, list_with: Callable[[Place], Lister]) -> Build:
    def put(keys: Iterable[str]) -> Lister:
        for key in keys:
            place.put(key, b"x" * len(key))
        return list_with(place)

    return put


@pytest.fixture(params=KINDS)
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Build:
    """Builds a lister of objects with these keys, each holding its key's length in bytes."""
    kind = request.param
    if kind == "memory":
        return lambda keys: MemoryLister(map(build_listed, keys))
    if kind == "parallel":
        return lambda keys: ParallelLister(MemoryLister(map(build_listed, keys)), lambda: ODD_KEYS[::3])
    if kind == "local":

        def write(keys: Iterable[str]) -> Lister:
            for key in keys:
                path = tmp_path / key
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"x" * len(key))
            return LocalLister(tmp_path)

        return write
    if kind == "s3":
        emulator: EmulatorSession = request.getfixturevalue("emulator")
        bucket, s3 = emulator.create_landing_zone().bucket, emulator.clients.s3

        def put(keys: Iterable[str]) -> Lister:
            for key in keys:
                s3.put_object(Bucket=bucket, Key=key, Body=b"x" * len(key))
            return S3Lister(s3, bucket, page_size=3)

        return put
    if kind == "gcs":
        return put_with(
            request.getfixturevalue("gcs"), lambda it: GcsLister(it.client, it.bucket, page_size=3)
        )
    if kind == "azure":
        return put_with(
            request.getfixturevalue("container"), lambda it: AzureLister(it.client, it.name, page_size=3)
        )
    return lambda keys: build_inventory(tmp_path, kind.removeprefix("inventory-"), list(keys))


def list_keys(lister: Lister, prefix: str = "", start_after: str = "") -> list[str]:
    return [listed.key for listed in lister.iter_objects(prefix, start_after)]


def test_keys_come_as_they_are_in_the_order_of_their_bytes(build: Build) -> None:
    assert list_keys(build(ODD_KEYS)) == sorted(ODD_KEYS, key=lambda key: key.encode())


def test_a_prefix_is_of_the_key_and_not_a_folder(build: Build) -> None:
    lister = build(ODD_KEYS)
    assert list_keys(lister, "a/") == ["a/b.txt", "a/b/c.txt"]
    assert list_keys(lister, "a%") == ["a%2Fb.json", "a%41b.json"]
    assert list_keys(lister, "none/") == []


def test_it_starts_after_any_text(build: Build) -> None:
    lister = build(ODD_KEYS)
    ordered = sorted(ODD_KEYS)
    for at, key in enumerate(ordered):
        assert list_keys(lister, start_after=key) == ordered[at + 1 :]
    assert list_keys(lister, "a", start_after="a.") == ["a.txt", "a/b.txt", "a/b/c.txt", "a0.txt"]


def test_listed_object_has_size_etag_and_time(build: Build) -> None:
    (found,) = build(["one.json"]).iter_objects()
    assert (found.key, found.size) == ("one.json", 8)
    assert found.etag
    assert '"' not in found.etag
    assert found.last_modified.utcoffset() is not None
    assert found.last_modified.utcoffset() == WHEN.utcoffset()


def test_nothing_is_an_empty_listing(build: Build) -> None:
    assert list_keys(build([])) == []


def test_it_lists_again_when_asked_again(build: Build) -> None:
    lister = build(["a", "b"])
    assert list_keys(lister) == list_keys(lister) == ["a", "b"]

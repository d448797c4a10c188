"""The files of a lake in Data Lake Storage, without a JVM."""

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest

from headwater.config.azure_account import EMULATOR_ACCOUNT, EMULATOR_KEY
from headwater.config.environment import temporary_environment
from headwater.config.lake_storage import LakeStorageConfig
from headwater.errors import LakeError
from headwater.lake.file_store import FileStore
from headwater.lake.storage_options import build_storage_options
from headwater.lake.writers.unfilled_files import remove_unfilled
from tests.fixtures.azure import DataLake
from tests.fixtures.servers.data_lake.answer import RefusedError

TIMELINE = ".hoodie/timeline"
DONE = "20261128014101471_20261128014110176.commit"
PLAN = "20261128014101472.compaction.requested"
BEGUN = "20261128014101473.commit.requested"


@pytest.fixture
def store(data_lake: DataLake) -> Iterator[FileStore]:
    yield open_store(data_lake, data_lake.create_lake())
    data_lake.double.refuse = lambda *_: None


def open_store(data_lake: DataLake, lake: str) -> FileStore:
    config = LakeStorageConfig(endpoint=data_lake.endpoint)
    return FileStore(lake, lambda: build_storage_options(lake, config))


def test_files_are_written_listed_copied_and_deleted(store: FileStore) -> None:
    assert store.list_files() == []
    store.write("a/1.json", b"one")
    store.copy("b/2.json", store, "a/1.json")
    assert {file.path: file.size for file in store.list_files()} == {"a/1.json": 3, "b/2.json": 3}
    assert sorted(store.list_folders()) == ["a", "b"]
    store.delete("a/1.json")
    store.delete("a/1.json")
    assert store.read_if_there("a/1.json") is None
    assert store.read("b/2.json") == b"one"


@pytest.mark.slow
def test_a_reader_sees_the_previous_content_or_the_new_one(store: FileStore) -> None:
    contents = {b"1" * 10, b"2" * 10}
    store.write("lease.json", min(contents))
    seen: set[bytes | None] = set()
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            seen.add(store.read_if_there("lease.json"))

    thread = threading.Thread(target=read)
    thread.start()
    for _ in range(10):
        for content in contents:
            store.write("lease.json", content)
    ended.set()
    thread.join()
    assert seen <= contents


def test_an_absent_container_is_named(data_lake: DataLake) -> None:
    store = open_store(data_lake, data_lake.create_lake().replace("landing-", "absent-"))
    with pytest.raises(LakeError, match=r"absent-.*: the container does not exist"):
        store.write("a.json", b"one")


def test_an_account_without_folders_is_rejected(data_lake: DataLake, store: FileStore) -> None:
    def have_none(_: str, __: str, query: object) -> RefusedError | None:
        return (
            RefusedError(400, "HierarchicalNamespaceNotEnabled") if "getAccessControl" in str(query) else None
        )

    data_lake.double.refuse = have_none
    with pytest.raises(LakeError, match="has no hierarchical namespace"):
        store.write("a.json", b"one")


def test_a_wrong_key_is_named(data_lake: DataLake, store: FileStore) -> None:
    with (
        temporary_environment({"AZURE_STORAGE_KEY": "d3Jvbmc="}),
        pytest.raises(LakeError, match="access denied") as raised,
    ):
        open_store(data_lake, store.url).list_files()
    assert "AZURE_STORAGE_KEY" in raised.value.hint


def test_a_shared_access_signature_is_enough_without_spark(data_lake: DataLake, store: FileStore) -> None:
    from azure.storage.blob import generate_account_sas

    store.write("a.json", b"one")
    until = datetime.now(timezone.utc) + timedelta(hours=1)
    token = generate_account_sas(EMULATOR_ACCOUNT, EMULATOR_KEY, "sco", "racwdl", until)
    with temporary_environment({"AZURE_STORAGE_SAS_TOKEN": token}):
        signed = open_store(data_lake, store.url)
        assert signed.read("a.json") == b"one"
        signed.write("b.json", b"two")
    assert store.read("b.json") == b"two"


@pytest.mark.parametrize("folder", [TIMELINE, f".hoodie/metadata/{TIMELINE}"])
def test_only_files_that_must_have_content_are_removed(store: FileStore, folder: str) -> None:
    for name in (DONE, PLAN, BEGUN):
        store.write(f"{folder}/{name}", b"")
    full = DONE.replace("commit", "deltacommit")
    store.write(f"{folder}/{full}", b"{}")
    # Another process may be about to fill them.
    assert remove_unfilled(store.url, store.build_options(), may_be_shared=True) == []
    found = remove_unfilled(store.url, store.build_options(), may_be_shared=False)
    assert sorted(found) == sorted([DONE, PLAN])
    assert {file.name for file in store.list_files()} == {BEGUN, full}


def test_a_lake_elsewhere_is_left_alone(store: FileStore) -> None:
    assert remove_unfilled("/no/such/folder", {}, may_be_shared=False) == []

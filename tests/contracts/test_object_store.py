"""What every object store does, run on every one of them."""

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from headwater.config.azure_account import EMULATOR_ACCOUNT
from headwater.errors import (
    ObjectForbiddenError,
    ObjectMissingError,
    ObjectSupersededError,
    ObjectTooLargeError,
)
from headwater.sources.local.lister import build_file_etag
from headwater.sources.memory.object_store import load_memory_store
from headwater.sources.object_event import is_same_etag
from headwater.sources.object_store import ObjectRef, ObjectState, ObjectStore, ObjectStoreConfig
from headwater.sources.registry import build_object_store
from tests.fixtures.azure import Container
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.google import Storage

ODD_KEYS = [
    "plain.json",
    "a b+c.json",
    "100%.json",
    "a%41b.json",
    "a%2Fb.json",
    "what?.json",
    "#hash&x=1.json",
    "quote\"'.json",
    "back\\slash.json",
    "brace{a,b}[c]*.json",
    "day=2024-01-01/übergröße-日本-😀.json",
    ".hidden/...json",
    "tab\tnew\nline.json",
    "~tilde$;:@!().json",
]


@dataclass
class Harness:
    """A store, and how to change what lies in its bucket."""

    store: ObjectStore
    bucket: str
    put: Callable[[str, bytes], ObjectState]
    remove: Callable[[str], None]
    versioned: bool

    def ref(self, key: str, state: ObjectState | None = None) -> ObjectRef:
        if state is None:
            return ObjectRef("any", self.bucket, key)
        return ObjectRef("any", self.bucket, key, state.version_id, state.etag, state.size)


@pytest.fixture
def local(tmp_path: Path) -> Harness:
    folder = tmp_path / "bucket"
    folder.mkdir()

    def put(key: str, data: bytes) -> ObjectState:
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.stat().st_mtime_ns if path.exists() else 0
        path.write_bytes(data)
        status = path.stat()
        if status.st_mtime_ns == before:  # the clock of the file system is coarse
            os.utime(path, ns=(before + 1, before + 1))
        store = build_object_store(ObjectStoreConfig("local"))
        state = store.state(ObjectRef("local", str(folder), key))
        assert state is not None
        assert is_same_etag(state.etag, build_file_etag(path.stat()))
        return state

    return Harness(
        build_object_store(ObjectStoreConfig("local")),
        str(folder),
        put,
        lambda key: (folder / key).unlink(),
        versioned=False,
    )


@pytest.fixture
def relocated(local: Harness) -> Harness:
    """A folder's files, which the lake knows from another folder."""
    config = ObjectStoreConfig("local", known_as="/former", location=local.bucket)
    return replace(local, store=build_object_store(config), bucket="/former")


@pytest.fixture
def memory() -> Harness:
    name = uuid.uuid4().hex
    objects = load_memory_store(name)
    return Harness(
        build_object_store(ObjectStoreConfig("memory", name=name)),
        "bucket",
        lambda key, data: objects.put("bucket", key, data),
        lambda key: objects.remove("bucket", key),
        versioned=True,
    )


@pytest.fixture
def s3(emulator: EmulatorSession, monkeypatch: pytest.MonkeyPatch) -> Harness:
    for name, value in emulator.environment.items():
        monkeypatch.setenv(name, value)
    bucket = f"objects-{uuid.uuid4().hex[:12]}"
    client = emulator.clients.s3
    client.create_bucket(Bucket=bucket)
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    store = build_object_store(ObjectStoreConfig("s3", endpoint=emulator.endpoint))

    def put(key: str, data: bytes) -> ObjectState:
        client.put_object(Bucket=bucket, Key=key, Body=data)
        state = store.state(ObjectRef("s3", bucket, key))
        assert state is not None
        return state

    def remove(key: str) -> None:
        client.delete_object(Bucket=bucket, Key=key)

    return Harness(store, bucket, put, remove, versioned=True)


def build_gcs(storage: Storage, *, versioned: bool) -> Harness:
    store = build_object_store(ObjectStoreConfig("gcs", endpoint=storage.endpoint))

    def put(key: str, data: bytes) -> ObjectState:
        storage.put(key, data)
        state = store.state(ObjectRef("gcs", storage.bucket, key))
        assert state is not None
        return state

    return Harness(store, storage.bucket, put, storage.remove, versioned)


@pytest.fixture
def unversioned_gcs(gcs: Storage) -> Harness:
    return build_gcs(gcs, versioned=False)


@pytest.fixture
def versioned_gcs(versioned_storage: Storage) -> Harness:
    return build_gcs(versioned_storage, versioned=True)


@pytest.fixture
def azure(container: Container) -> Harness:
    config = ObjectStoreConfig("azure", endpoint=container.endpoint, name=EMULATOR_ACCOUNT)
    store = build_object_store(config)

    def put(key: str, data: bytes) -> ObjectState:
        container.put(key, data)
        state = store.state(ObjectRef("azure", container.name, key))
        assert state is not None
        return state

    return Harness(store, container.name, put, container.remove, versioned=False)


@pytest.fixture(params=["memory", "local", "relocated", "s3", "unversioned_gcs", "versioned_gcs", "azure"])
def harness(request: pytest.FixtureRequest) -> Harness:
    found: Harness = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("key", ODD_KEYS)
def test_any_key_is_read_exactly(harness: Harness, key: str) -> None:
    harness.put("a", b"other")
    state = harness.put(key, key.encode())

    content = harness.store.read(harness.ref(key, state))

    assert content.data == key.encode()
    assert content.state.etag == state.etag
    assert content.state.size == len(key.encode())


def test_read_without_version_and_etag_returns_current_content(harness: Harness) -> None:
    harness.put("k", b"one")
    newest = harness.put("k", b"three")

    assert harness.store.read(harness.ref("k")).data == b"three"
    assert harness.store.read(harness.ref("k")).state.etag == newest.etag


def test_state_is_the_current_one_whatever_the_ref_names(harness: Harness) -> None:
    old = harness.put("k", b"one")
    new = harness.put("k", b"three")

    found = harness.store.state(harness.ref("k", old))

    assert found == new
    assert found is not None
    assert found.size == 5
    assert found.last_modified.utcoffset() is not None


def test_a_named_version_is_read_after_an_overwrite_and_a_removal(harness: Harness) -> None:
    if not harness.versioned:
        pytest.skip("has no versions")
    old = harness.put("k", b"one")
    harness.put("k", b"two")
    harness.remove("k")

    assert harness.store.read(harness.ref("k", old)).data == b"one"


def test_another_content_than_the_etag_names_is_superseded(harness: Harness) -> None:
    old = harness.put("k", b"one")
    harness.put("k", b"two")

    with pytest.raises(ObjectSupersededError):
        harness.store.read(ObjectRef("any", harness.bucket, "k", None, old.etag))


def test_a_removed_object_is_missing(harness: Harness) -> None:
    state = harness.put("k", b"one")
    harness.remove("k")

    with pytest.raises(ObjectMissingError):
        harness.store.read(ObjectRef("any", harness.bucket, "k", None, state.etag))
    with pytest.raises(ObjectMissingError):
        harness.store.read(harness.ref("k"))
    assert harness.store.state(harness.ref("k")) is None


def test_an_unknown_version_is_missing(harness: Harness) -> None:
    if not harness.versioned:
        pytest.skip("has no versions")
    harness.put("k", b"one")

    with pytest.raises(ObjectMissingError):
        harness.store.read(ObjectRef("any", harness.bucket, "k", "3sL4kqtJlcpXroDTDmJrmSpXd3dIbrHY"))


@pytest.mark.parametrize("key", ["never", "never/there/at.all", "k/below", "x" * 2000])
def test_a_key_that_was_never_there_is_missing(harness: Harness, key: str) -> None:
    harness.put("k", b"one")

    with pytest.raises(ObjectMissingError):
        harness.store.read(harness.ref(key))
    assert harness.store.state(harness.ref(key)) is None


@pytest.mark.parametrize("key", ["k/", "/k", "./k", "a/../k", "a//b", "a/./b"])
def test_a_key_never_reads_the_object_of_another_key(harness: Harness, key: str) -> None:
    harness.put("k", b"one")
    harness.put("a/b", b"two")

    with pytest.raises((ObjectMissingError, ObjectForbiddenError)):
        harness.store.read(harness.ref(key))


def test_an_empty_object_is_read(harness: Harness) -> None:
    state = harness.put("empty", b"")

    assert harness.store.read(harness.ref("empty", state)).data == b""


def test_more_bytes_than_allowed_are_refused(harness: Harness) -> None:
    state = harness.put("k", b"x" * 100)

    assert len(harness.store.read(harness.ref("k", state), max_bytes=100).data) == 100
    with pytest.raises(ObjectTooLargeError, match="100 bytes"):
        harness.store.read(harness.ref("k", state), max_bytes=99)


def test_the_store_is_built_once_per_configuration() -> None:
    assert build_object_store(ObjectStoreConfig("local")) is build_object_store(ObjectStoreConfig("local"))

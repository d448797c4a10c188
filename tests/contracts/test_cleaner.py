"""What every cleaner does, run on every one of them."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import ObjectForbiddenError, SourceError
from headwater.sources.azure.cleaner import AzureCleaner
from headwater.sources.azure.lister import AzureLister
from headwater.sources.cleaner import CleanTarget, SourceCleaner
from headwater.sources.gcs.cleaner import GcsCleaner
from headwater.sources.gcs.lister import GcsLister
from headwater.sources.lister import ListedObject
from headwater.sources.local.cleaner import LocalCleaner
from headwater.sources.local.lister import LocalLister
from headwater.sources.memory.cleaner import MemoryCleaner
from headwater.sources.memory.object_store import MemoryObjectStore
from headwater.sources.object_store import ObjectRef, ObjectState
from headwater.sources.s3.cleaner import CopySizes, S3Cleaner
from headwater.sources.s3.lister import S3Lister
from tests.fixtures.azure import Container
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.google import Storage

KEYS = [
    "plain.json",
    "a b+c%41.json",
    "what?#x=1&y.json",
    "day=2024-01-01/übergröße-日本-😀.json",
    "~q\"'.json",
]


@dataclass
class Harness:
    """A source, the place that objects are moved to, and what lies in both."""

    put: Callable[[str, bytes], ListedObject]
    read: Callable[[str], bytes | None]
    read_moved: Callable[[str], bytes | None]
    build: Callable[[CleanTarget], SourceCleaner]
    move_to: str
    has_tags: bool = True
    read_tags: Callable[[str], Mapping[str, str]] = lambda _: {}

    def delete(self) -> SourceCleaner:
        return self.build(CleanTarget("delete"))

    def move(self) -> SourceCleaner:
        return self.build(CleanTarget("move", self.move_to))

    def tag(self, **tags: str) -> SourceCleaner:
        if not self.has_tags:
            pytest.skip("has no tags")
        return self.build(CleanTarget("tag", tags=tags))


@pytest.fixture
def local(tmp_path: Path) -> Harness:
    root, archive = tmp_path / "source", tmp_path / "archive"
    root.mkdir()

    def put(key: str, data: bytes) -> ListedObject:
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return next(found for found in LocalLister(root).iter_objects(key) if found.key == key)

    def read(folder: Path) -> Callable[[str], bytes | None]:
        return lambda key: (folder / key).read_bytes() if (folder / key).exists() else None

    return Harness(
        put,
        read(root),
        read(archive),
        lambda target: LocalCleaner(root, target),
        str(archive),
        has_tags=False,
    )


@pytest.fixture
def memory() -> Harness:
    store = MemoryObjectStore()
    tags: dict[str, dict[str, str]] = {}

    def read(bucket: str, prefix: str = "") -> Callable[[str], bytes | None]:
        def found(key: str) -> bytes | None:
            ref = ObjectRef("memory", bucket, prefix + key)
            return store.read(ref).data if store.state(ref) else None

        return found

    def put(key: str, data: bytes) -> ListedObject:
        state: ObjectState = store.put("landing", key, data)
        return ListedObject(key, state.size, state.etag or "", None, state.last_modified)

    def build(target: CleanTarget) -> SourceCleaner:
        cleaner = MemoryCleaner(store, "landing", target)
        cleaner.tags = tags
        return cleaner

    moved = read("archive", "old/")
    return Harness(
        put, read("landing"), moved, build, "archive/old/", read_tags=lambda key: tags.get(key, {})
    )


WHOLE = CopySizes()
# As for an object above 5 GB.
IN_PARTS = CopySizes(in_parts=1, part=5 * 1024**2)


def build_s3(emulator: EmulatorSession, *, versioned: bool, sizes: CopySizes = WHOLE) -> Harness:
    client: Any = emulator.clients.s3
    bucket, archive = (f"{name}-{uuid.uuid4().hex[:12]}" for name in ("cleaned", "archive"))
    for name in (bucket, archive):
        client.create_bucket(Bucket=name)
    if versioned:
        client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})

    def put(key: str, data: bytes) -> ListedObject:
        client.put_object(Bucket=bucket, Key=key, Body=data, ContentType="text/x-odd", Metadata={"who": "me"})
        return next(iter(S3Lister(client, bucket).iter_objects(key)))

    def read(where: str, prefix: str = "") -> Callable[[str], bytes | None]:
        def found(key: str) -> bytes | None:
            try:
                return bytes(client.get_object(Bucket=where, Key=prefix + key)["Body"].read())
            except client.exceptions.NoSuchKey:
                return None

        return found

    def read_tags(key: str) -> Mapping[str, str]:
        tags = client.get_object_tagging(Bucket=bucket, Key=key)["TagSet"]
        return {tag["Key"]: tag["Value"] for tag in tags}

    return Harness(
        put,
        read(bucket),
        read(archive, "old/"),
        lambda target: S3Cleaner(client, bucket, target, sizes),
        f"{archive}/old/",
        read_tags=read_tags,
    )


def build_gcs(storage: Storage) -> Harness:
    archive = f"archive-{uuid.uuid4().hex[:12]}"
    storage.client.create_bucket(archive)

    def put(key: str, data: bytes) -> ListedObject:
        storage.put(key, data)
        lister = GcsLister(storage.client, storage.bucket)
        return next(found for found in lister.iter_objects(key) if found.key == key)

    return Harness(
        put,
        storage.read,
        lambda key: storage.read(f"old/{key}", archive),
        lambda target: GcsCleaner(storage.client, storage.bucket, target),
        f"{archive}/old/",
        has_tags=False,
    )


def build_azure(container: Container) -> Harness:
    archive = f"archive-{uuid.uuid4().hex[:12]}"
    container.client.create_container(archive)

    def put(key: str, data: bytes) -> ListedObject:
        container.put(key, data)
        lister = AzureLister(container.client, container.name)
        return next(found for found in lister.iter_objects(key) if found.key == key)

    return Harness(
        put,
        container.read,
        lambda key: container.read(f"old/{key}", archive),
        lambda target: AzureCleaner(container.open_client(), container.name, target),
        f"{archive}/old/",
        has_tags=False,
    )


IN_GOOGLE = ("gcs", "versioned_storage")


@pytest.fixture(params=["memory", "local", "s3", "s3 with versions", "s3 in parts", "azure", *IN_GOOGLE])
def harness(request: pytest.FixtureRequest) -> Harness:
    if request.param in IN_GOOGLE:
        return build_gcs(request.getfixturevalue(request.param))
    if request.param == "azure":
        return build_azure(request.getfixturevalue("container"))
    if request.param.startswith("s3"):
        emulator = request.getfixturevalue("emulator")
        sizes = IN_PARTS if request.param == "s3 in parts" else WHOLE
        return build_s3(emulator, versioned=request.param == "s3 with versions", sizes=sizes)
    found: Harness = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("key", KEYS)
def test_delete_removes_only_that_object(harness: Harness, key: str) -> None:
    other = harness.put("other", b"other")
    listed = harness.put(key, b"one")
    assert harness.delete().clean(listed) == "cleaned"
    assert harness.read(key) is None
    assert harness.read(other.key) == b"other"


@pytest.mark.parametrize("key", KEYS)
def test_move_stores_the_object_at_the_target_only(harness: Harness, key: str) -> None:
    listed = harness.put(key, b"one")
    assert harness.move().clean(listed) == "cleaned"
    assert (harness.read(key), harness.read_moved(key)) == (None, b"one")


def test_doing_it_again_is_harmless(harness: Harness) -> None:
    listed = harness.put("a/b.json", b"one")
    for cleaner in (harness.delete(), harness.move()):
        cleaner.clean(listed)
        assert cleaner.clean(listed) == "gone"
        cleaner.close()


def test_interrupted_move_is_completed(harness: Harness) -> None:
    harness.move().clean(harness.put("a.json", b"one"))
    again = harness.put("a.json", b"one")
    assert harness.move().clean(again) == "cleaned"
    assert (harness.read("a.json"), harness.read_moved("a.json")) == (None, b"one")


@pytest.mark.parametrize("action", ["delete", "move", "tag"])
def test_objects_changed_since_are_skipped(harness: Harness, action: str) -> None:
    old = harness.put("a.json", b"one")
    harness.put("a.json", b"another")
    cleaner = {"delete": harness.delete, "move": harness.move, "tag": harness.tag}[action]()
    assert cleaner.clean(old) == "changed"
    assert (harness.read("a.json"), harness.read_moved("a.json")) == (b"another", None)


def test_the_same_bytes_put_again_are_something_else(harness: Harness) -> None:
    now = harness.put("a.json", b"one")
    before = replace(now, last_modified=now.last_modified - timedelta(hours=1))
    if not harness.has_tags:
        # A file's etag holds its time, and an object of Cloud Storage has a number.
        before = replace(before, etag="0-3", version_id="1" if now.version_id else None)
    assert harness.delete().clean(before) == "changed"
    assert harness.read("a.json") == b"one"


def test_tags_are_added_to_existing_tags(harness: Harness) -> None:
    listed = harness.put("a.json", b"one")
    assert harness.tag(team="data").clean(listed) == "cleaned"
    for _ in range(2):
        assert harness.tag(headwater="ingested").clean(listed) == "cleaned"
    assert harness.read_tags("a.json") == {"team": "data", "headwater": "ingested"}
    assert harness.read("a.json") == b"one"


def test_files_have_no_tags(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no tags"):
        LocalCleaner(tmp_path, CleanTarget("tag"))


def test_a_key_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "outside.json").write_bytes(b"mine")
    found = next(LocalLister(tmp_path).iter_objects("outside"))
    with pytest.raises(ObjectForbiddenError):
        LocalCleaner(tmp_path / "source", CleanTarget("delete")).clean(replace(found, key="../outside.json"))
    assert (tmp_path / "outside.json").exists()


def test_deleting_a_link_keeps_its_target(tmp_path: Path) -> None:
    root = tmp_path / "source"
    root.mkdir()
    (root / "real.json").write_bytes(b"one")
    (root / "link.json").symlink_to(root / "real.json")
    link = next(LocalLister(root).iter_objects("link"))
    assert LocalCleaner(root, CleanTarget("move", str(tmp_path / "archive"))).clean(link) == "cleaned"
    assert [path.name for path in root.iterdir()] == ["real.json"]
    assert (tmp_path / "archive/link.json").read_bytes() == b"one"
    assert not (tmp_path / "archive/link.json").is_symlink()


@pytest.mark.parametrize("sizes", [WHOLE, IN_PARTS], ids=["whole", "in parts"])
def test_s3_moves_metadata_and_tags_and_keeps_versions(emulator: EmulatorSession, sizes: CopySizes) -> None:
    harness = build_s3(emulator, versioned=True, sizes=sizes)
    client: Any = emulator.clients.s3
    data = bytes(range(256)) * (11 * 1024**2 // 256)
    listed = harness.put("a.json", data)
    harness.tag(team="data").clean(listed)
    assert harness.move().clean(listed) == "cleaned"
    archive, _, prefix = harness.move_to.partition("/")
    found = client.head_object(Bucket=archive, Key=f"{prefix}a.json")
    assert (found["ContentType"], found["Metadata"]) == ("text/x-odd", {"who": "me"})
    tags = client.get_object_tagging(Bucket=archive, Key=f"{prefix}a.json")["TagSet"]
    assert tags == [{"Key": "team", "Value": "data"}]
    assert harness.read_moved("a.json") == data
    # The etag of what came in parts tells how many they were.
    assert ("-3" in found["ETag"]) is (sizes is IN_PARTS)


def test_s3_leaves_a_delete_marker_and_every_version(emulator: EmulatorSession) -> None:
    harness = build_s3(emulator, versioned=True)
    client: Any = emulator.clients.s3
    cleaner: Any = harness.delete()
    cleaner.clean(harness.put("a.json", b"one"))
    bucket = cleaner._bucket
    versions = client.list_object_versions(Bucket=bucket)
    assert len(versions["Versions"]) == len(versions["DeleteMarkers"]) == 1


def test_s3_takes_no_eleventh_tag(emulator: EmulatorSession) -> None:
    harness = build_s3(emulator, versioned=False)
    listed = harness.put("a.json", b"one")
    harness.tag(**{f"t{at}": "x" for at in range(10)}).clean(listed)
    with pytest.raises(ObjectForbiddenError, match="10 tags"):
        harness.tag(headwater="ingested").clean(listed)

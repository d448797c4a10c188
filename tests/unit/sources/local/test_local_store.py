import os
from pathlib import Path

import pytest

from headwater.errors import (
    ObjectForbiddenError,
    ObjectMissingError,
    ObjectSupersededError,
    SourceUnavailableError,
)
from headwater.sources.local.lister import build_file_etag, build_listed_file, read_digest
from headwater.sources.local.object_store import LocalObjectStore
from headwater.sources.object_store import ObjectRef

STORE = LocalObjectStore()


def ref(folder: Path, key: str, etag: str | None = None) -> ObjectRef:
    return ObjectRef("local", str(folder), key, None, etag)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("secret")
    found = tmp_path / "bucket"
    found.mkdir()
    return found


@pytest.mark.parametrize("key", ["../secret", "a/../../secret", "/etc/hostname", "..", "a/..", "x\0y"])
def test_keys_that_leave_the_folder_are_forbidden(folder: Path, key: str) -> None:
    with pytest.raises(ObjectForbiddenError):
        STORE.read(ref(folder, key))


@pytest.mark.parametrize("target", ["../secret", "/etc/hostname"])
def test_links_that_leave_the_folder_are_forbidden(folder: Path, target: str) -> None:
    (folder / "link").symlink_to(target)

    with pytest.raises(ObjectForbiddenError, match="leads outside the folder"):
        STORE.read(ref(folder, "link"))


def test_links_inside_the_folder_are_followed(folder: Path) -> None:
    (folder / "real").write_text("x")
    (folder / "link").symlink_to("real")

    assert STORE.read(ref(folder, "link")).data == b"x"


def test_a_loop_of_links_is_one_objects_error(folder: Path) -> None:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")

    with pytest.raises((ObjectForbiddenError, ObjectMissingError)):
        STORE.read(ref(folder, "a"))


def test_a_pipe_and_a_folder_are_no_objects(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "sub").mkdir()

    for key in ("pipe", "sub"):
        with pytest.raises(ObjectMissingError):
            STORE.read(ref(folder, key))
        assert STORE.state(ref(folder, key)) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_read_permission_is_forbidden(folder: Path) -> None:
    (folder / "x").write_text("x")
    (folder / "x").chmod(0)

    with pytest.raises(ObjectForbiddenError, match="cannot be read: "):
        STORE.read(ref(folder, "x"))


def test_a_touched_file_is_another_state(folder: Path) -> None:
    (folder / "x").write_text("x")
    state = STORE.state(ref(folder, "x"))
    assert state is not None
    os.utime(folder / "x", ns=(1, 1))

    with pytest.raises(ObjectSupersededError):
        STORE.read(ref(folder, "x", state.etag))


def test_missing_root_folder_is_no_removal_of_its_objects(folder: Path) -> None:
    gone = folder / "unmounted"

    with pytest.raises(SourceUnavailableError, match=r"the source folder .* does not exist"):
        STORE.read(ref(gone, "x"))
    with pytest.raises(SourceUnavailableError, match=r"the source folder .* does not exist"):
        STORE.state(ref(gone, "x"))


def test_uri_is_written_as_hadoop_writes_it(folder: Path) -> None:
    assert STORE.uri(ref(folder, "a b/c.json")) == f"file:{folder}/a b/c.json"


OLD = 1_767_225_600_000_000_000


def write_old(path: Path, text: str) -> os.stat_result:
    path.write_text(text)
    os.utime(path, ns=(OLD, OLD))
    return path.stat()


def name_content(path: Path) -> str:
    """The etag by which the watcher tells the content from others of the same size and time."""
    status = path.stat()
    return f"{build_file_etag(status)}-{read_digest(path, build_listed_file(path.name, status))}"


def test_content_is_distinguished_from_other_content_of_equal_size_and_time(folder: Path) -> None:
    path = folder / "f"
    etag = build_file_etag(write_old(path, "one"))
    first = name_content(path)
    assert STORE.read(ref(folder, "f", first)).data == b"one"
    assert STORE.read(ref(folder, "f")).state.etag == first
    assert build_file_etag(write_old(path, "two")) == etag

    with pytest.raises(ObjectSupersededError, match="other content of the same size"):
        STORE.read(ref(folder, "f", first))
    present = STORE.state(ref(folder, "f", first))
    assert present is not None
    assert present.etag == name_content(path) != first
    assert STORE.read(ref(folder, "f", present.etag)).state == present


def test_event_of_an_older_release_names_time_and_size_only(folder: Path) -> None:
    etag = build_file_etag(write_old(folder / "f", "one"))
    content = STORE.read(ref(folder, "f", etag))
    assert (content.data, content.state.etag) == (b"one", etag)
    assert STORE.state(ref(folder, "f", etag)) == content.state

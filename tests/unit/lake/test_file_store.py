"""Files below a folder: copied with their checksum, replaced at once, and with errors that say what to do."""

from pathlib import Path

import pytest

from headwater.errors import LakeError, LakeNotWritableError, UsageError
from headwater.lake.file_store import FileStore, compute_checksum, explain_store_failure
from headwater.lake.table_files import StoredFile


def open_store(folder: Path | str) -> FileStore:
    return FileStore(str(folder), dict)


@pytest.mark.parametrize(
    ("url", "text", "expected"),
    [
        ("gs://b/x", "google::cloud::Status(NOT_FOUND: Permanent error)", "the bucket does not exist"),
        ("gs://b/x", "google::cloud::Status(PERMISSION_DENIED: Permanent error)", "access denied"),
        ("gs://b/x", "google::cloud::Status(UNAVAILABLE: Retry policy exhausted)", "does not answer"),
    ],
)
def test_answers_of_cloud_storage_are_explained(url, text, expected):
    error = explain_store_failure(url, OSError(text))
    assert expected in error.message
    assert "AWS" not in (error.hint or "")


def test_a_copy_has_the_content_and_tells_size_and_checksum(tmp_path):
    origin, target = open_store(tmp_path / "a"), open_store(tmp_path / "b")
    content = bytes(range(256)) * 40_000
    origin.write("x/y.bin", content)
    assert target.copy("z/.y.bin", origin, "x/y.bin") == (len(content), compute_checksum(content))
    assert target.read("z/.y.bin") == content
    assert target.list_files() == [StoredFile("z/.y.bin", len(content))]
    assert target.list_folders() == ["z"]
    target.write("z/.y.bin", b"new")
    assert target.read_if_there("z/.y.bin") == b"new"
    target.delete("z/.y.bin")
    target.delete("z/.y.bin")
    assert target.list_files("z") == []


def test_a_file_that_does_not_exist_is_told_from_other_errors(tmp_path):
    origin, target = open_store(tmp_path / "a"), open_store(tmp_path / "b")
    with pytest.raises(FileNotFoundError):
        target.copy("x", origin, "x")
    assert origin.read_if_there("x") is None
    assert origin.list_files() == []
    (tmp_path / "file").write_text("")
    with pytest.raises(LakeError):
        open_store(tmp_path / "file").write("x", b"")


def test_a_full_device_says_so(tmp_path):
    origin = open_store(tmp_path)
    origin.write("x", b"content")
    with pytest.raises(LakeNotWritableError, match="no space left") as caught:
        open_store("/dev").copy("full", origin, "x")
    assert "it resumes" in caught.value.hint


def test_a_location_of_an_unknown_kind_is_refused():
    with pytest.raises(UsageError, match="no such file system"):
        open_store("gopher://there/x").list_files()

import os
from pathlib import Path

import pytest

from headwater.errors import SourceUnavailableError
from headwater.sources.lister import UnusablePath
from headwater.sources.local.lister import LocalLister, build_file_etag, is_transient


def write(root: Path, *keys: str) -> None:
    for key in keys:
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(key)


def list_keys(root: Path, prefix: str = "") -> list[str]:
    return [found.key for found in LocalLister(root).iter_objects(prefix)]


def list_unusable(root: Path) -> list[tuple[str, str]]:
    found: list[UnusablePath] = []
    list(LocalLister(root, found.append).iter_objects())
    return [(path.key, path.reason) for path in found]


def test_files_are_listed_with_posix_keys_in_the_order_of_keys(tmp_path: Path) -> None:
    keys = ["a.txt", "a/b.txt", "a/b/c.txt", "a0.txt", "b.txt", "ü/日本 +%41#.json"]
    write(tmp_path, *reversed(keys))
    assert list_keys(tmp_path) == sorted(keys, key=lambda key: key.encode())


def test_file_is_listed_with_its_attributes(tmp_path: Path) -> None:
    write(tmp_path, "a.txt")
    os.utime(tmp_path / "a.txt", ns=(0, 1_767_225_600_500_000_000))
    (found,) = LocalLister(tmp_path).iter_objects()
    assert found.size == 5
    assert found.etag == build_file_etag((tmp_path / "a.txt").stat()) == f"{1_767_225_600_500_000_000:x}-5"
    assert found.last_modified.isoformat().startswith("2026-01-01T00:00:00.500000")
    assert found.version_id is None


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [("a/", ["a/x", "a/y/z"]), ("a/y/z", ["a/y/z"]), ("a", ["a/x", "a/y/z", "ab"]), ("q/", [])],
)
def test_a_prefix_chooses_keys_and_not_folders(tmp_path: Path, prefix: str, expected: list[str]) -> None:
    write(tmp_path, "a/x", "a/y/z", "ab", "b/x")
    assert list_keys(tmp_path, prefix) == expected


def test_hidden_and_temporary_files_are_not_listed(tmp_path: Path) -> None:
    write(tmp_path, ".a.csv.swp", "a.csv.tmp", "a.csv~", "out/_temporary/0/part", ".git/config", "b.PART")
    write(tmp_path, "out/_SUCCESS", "a.csv", "tmp/a.csv", "_b.csv")
    assert list_keys(tmp_path) == ["_b.csv", "a.csv", "out/_SUCCESS", "tmp/a.csv"]
    assert is_transient("x/.rsync.a7F/y")
    assert not is_transient("x/a.tmp.csv")


def test_a_loop_of_links_is_reported_and_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "a/b/file")
    (tmp_path / "a/b/up").symlink_to(tmp_path / "a")
    assert list_keys(tmp_path) == ["a/b/file"]
    assert list_unusable(tmp_path) == [("a/b/up/", "link_loop")]


def test_links_inside_the_folder_are_followed(tmp_path: Path) -> None:
    write(tmp_path, "a/file")
    (tmp_path / "again").symlink_to(tmp_path / "a")
    (tmp_path / "one").symlink_to(tmp_path / "a/file")
    assert list_keys(tmp_path) == ["a/file", "again/file", "one"]


def test_links_out_of_the_folder_and_to_nothing_are_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(tmp_path, "outside/secret", "root/file")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "link").symlink_to(tmp_path / "outside/secret")
    (root / "nothing").symlink_to(tmp_path / "gone")
    assert list_keys(root) == ["file"]
    assert list_unusable(root) == [
        ("folder/", "link_leads_out"),
        ("link", "link_leads_out"),
        ("nothing", "link_leads_out"),
    ]


def test_a_name_that_is_not_utf8_is_reported_and_the_others_are_listed(tmp_path: Path) -> None:
    write(tmp_path, "good")
    (tmp_path / os.fsdecode(b"bad-\xff")).write_text("x")
    assert list_keys(tmp_path) == ["good"]
    assert list_unusable(tmp_path) == [("bad-\udcff", "bad_name")]


def test_a_pipe_is_not_an_object(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert list_keys(tmp_path) == []


def test_a_folder_that_is_not_there_is_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailableError, match="gone"):
        list_keys(tmp_path / "gone")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "a/file", "b/file")
    (tmp_path / "a").chmod(0)
    try:
        assert list_keys(tmp_path) == ["b/file"]
        assert list_unusable(tmp_path) == [("a/", "unreadable_folder")]
    finally:
        (tmp_path / "a").chmod(0o755)


def test_keys_of_a_folder_that_may_not_be_read_may_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a/file", "b/file")
    scan = os.scandir

    def refuse(folder: str) -> object:
        if folder == str(tmp_path / "a"):
            raise PermissionError(13, "denied")
        return scan(folder)

    lister = LocalLister(tmp_path)
    monkeypatch.setattr(os, "scandir", refuse)
    assert [found.key for found in lister.iter_objects()] == ["b/file"]
    assert lister.hides("a/file")
    assert not lister.hides("b/gone")
    monkeypatch.undo()
    assert [found.key for found in lister.iter_objects()] == ["a/file", "b/file"]
    assert not lister.hides("a/file")


def test_a_link_to_itself_hides_no_other_file(tmp_path: Path) -> None:
    write(tmp_path, "a/file", "a/zebra")
    (tmp_path / "a/loop").symlink_to("loop")
    assert list_keys(tmp_path) == ["a/file", "a/zebra"]
    assert list_unusable(tmp_path) == [("a/loop", "link_loop")]


@pytest.mark.parametrize("seconds", [-(2**40), -1, 2**37])
def test_times_of_no_calendar_are_the_nearest_that_is(tmp_path: Path, seconds: int) -> None:
    write(tmp_path, "a")
    try:
        os.utime(tmp_path / "a", (seconds, seconds))
    except (OSError, OverflowError):
        pytest.skip("the file system has no such time")
    (found,) = LocalLister(tmp_path).iter_objects()
    assert found.last_modified.year in (1970, 2261) or found.last_modified.year > 2026

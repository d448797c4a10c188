"""The operating system's changes, also after it named a path that is not UTF-8."""

import os
import threading
from pathlib import Path

import pytest

from headwater.errors import SourceUnavailableError
from headwater.sources.local.folder_watcher import change_feed
from headwater.sources.local.folder_watcher.change_feed import FolderChangeFeed
from tests.fixtures.waiting import wait_until


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_feed, "_RESTART_PAUSE_SECONDS", 0.01)


def collect(feed: FolderChangeFeed, path: Path) -> None:
    """Wait until the feed names the path."""
    seen: set[str] = set()

    def is_named() -> bool:
        seen.update(feed.wait(0.5, threading.Event()))
        return str(path) in seen

    wait_until(is_named, f"{path} in {seen}")


def test_a_changed_file_is_named(tmp_path: Path) -> None:
    with FolderChangeFeed(tmp_path) as feed:
        (tmp_path / "a").write_text("1")
        collect(feed, tmp_path / "a")


def test_after_a_name_that_is_not_utf8_all_may_have_changed_and_later_changes_are_named(
    tmp_path: Path,
) -> None:
    with FolderChangeFeed(tmp_path) as feed:
        (tmp_path / os.fsdecode(b"bad-\xff")).write_text("1")
        collect(feed, tmp_path)
        (tmp_path / "later").write_text("1")
        collect(feed, tmp_path / "later")


def test_a_folder_that_is_not_there_cannot_be_watched(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailableError, match="does not exist"):
        FolderChangeFeed(tmp_path / "gone")

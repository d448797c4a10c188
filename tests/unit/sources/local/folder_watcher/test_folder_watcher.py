import json
import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headwater.config.source import LocalSourceConfig
from headwater.errors import SourceUnavailableError
from headwater.sources.local.folder_watcher import FolderWatcher, watcher
from headwater.sources.local.folder_watcher.file_messages import read_file_clock
from headwater.sources.local.folder_watcher.known_files import KnownFile
from headwater.sources.local.lister import build_file_etag
from headwater.sources.memory.queue import MemoryQueue
from headwater.sources.message_parser import parse_message
from headwater.sources.object_event import ObjectEvent, is_same_etag
from headwater.sources.queue import Message
from tests.fixtures.capture import Tables, build_consumer
from tests.fixtures.waiting import wait_until


def read_queue(queue: MemoryQueue) -> list[Message]:
    messages: list[Message] = []
    while found := queue.receive(10, 0):
        messages.extend(found)
        queue.ack({message.message_id: message.receipt_handle for message in found})
    return messages


def read_events(queue: MemoryQueue) -> list[ObjectEvent]:
    return [event for message in read_queue(queue) for event in parse_message(message.body).events]


def write(path: Path, text: str, *, age: float = 60) -> str:
    """Write a file that was last changed a while ago; returns its etag."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    changed = time.time() - age
    os.utime(path, (changed, changed))
    return build_file_etag(path.stat())


def build_watcher(
    root: Path, queue: MemoryQueue, known: Mapping[str, str] | None = None, settle_seconds: float = 0.1
) -> FolderWatcher:
    config = LocalSourceConfig(type="local", path=root, settle_seconds=settle_seconds)
    files = {key: KnownFile(etag) for key, etag in (known or {}).items()}
    return FolderWatcher(config, files, queue)


def announce(root: Path, known: Mapping[str, str] | None = None) -> list[ObjectEvent]:
    queue = MemoryQueue()
    build_watcher(root, queue, known).announce_existing()
    return read_events(queue)


@dataclass
class Watched:
    """A folder that is being watched, and what was announced."""

    root: Path
    queue: MemoryQueue
    events: list[ObjectEvent] = field(default_factory=list)

    def wait_for(self, count: int) -> list[ObjectEvent]:
        def enough() -> bool:
            self.events.extend(read_events(self.queue))
            return len(self.events) >= count

        wait_until(enough, f"{count} events")
        return self.events

    @property
    def seen(self) -> list[tuple[str, str]]:
        return [(event.kind, event.key) for event in self.events]


@contextmanager
def watch(root: Path, settle_seconds: float = 0.1) -> Iterator[Watched]:
    queue = MemoryQueue()
    watcher = build_watcher(root, queue, settle_seconds=settle_seconds)
    stop = threading.Event()
    thread = threading.Thread(target=watcher.run, args=(stop,))
    thread.start()
    watched = Watched(root, queue)
    try:
        yield watched
    finally:
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


def test_existing_files_are_announced_in_the_shape_of_s3(tmp_path: Path) -> None:
    etag = write(tmp_path / "in" / "a +%41.json", "abc")
    queue = MemoryQueue()
    assert build_watcher(tmp_path, queue).announce_existing() == 1
    (message,) = read_queue(queue)
    (record,) = json.loads(message.body)["Records"]
    assert (record["eventSource"], record["headwaterSource"]) == ("headwater:local", "listing")
    (event,) = parse_message(message.body).events
    assert (event.provider, event.bucket, event.key) == ("local", str(tmp_path), "in/a +%41.json")
    assert (event.kind, event.size) == ("created", 3)
    assert is_same_etag(event.etag, etag)
    assert event.sequencer is not None
    assert len(event.sequencer) == 16


def test_known_files_are_not_announced_again(tmp_path: Path) -> None:
    etag = write(tmp_path / "a", "1")
    assert announce(tmp_path, {"a": etag}) == []


def test_announcing_twice_gives_the_same_event(tmp_path: Path) -> None:
    write(tmp_path / "a", "1")
    assert [event.event_id for event in announce(tmp_path)] == [
        event.event_id for event in announce(tmp_path)
    ]


def test_a_changed_and_a_removed_file_are_announced_at_the_next_start(tmp_path: Path) -> None:
    etag = write(tmp_path / "a", "1")
    write(tmp_path / "b", "1")
    events = announce(tmp_path, {"a": "old", "b": build_file_etag((tmp_path / "b").stat()), "c": "x"})
    assert [(event.kind, event.key) for event in events] == [("removed", "c"), ("created", "a")]
    assert is_same_etag(events[-1].etag, etag)


def test_a_file_that_was_just_written_is_announced_when_it_has_settled(tmp_path: Path) -> None:
    write(tmp_path / "a", "1", age=0)
    assert [event.key for event in announce(tmp_path)] == ["a"]


def test_file_moved_over_another_with_an_old_time_is_newer(tmp_path: Path) -> None:
    write(tmp_path / "a", "new", age=10)
    (first,) = announce(tmp_path)
    write(tmp_path / ".incoming", "older", age=1000)
    (tmp_path / ".incoming").rename(tmp_path / "a")
    (second,) = announce(tmp_path)
    assert (second.order_key or "") > (first.order_key or "")


def test_a_file_put_back_is_newer_than_its_removal(tmp_path: Path) -> None:
    write(tmp_path / "a", "1")
    (tmp_path / "a").rename(tmp_path / ".aside")
    (removed,) = announce(tmp_path, {"a": "x"})
    (tmp_path / ".aside").rename(tmp_path / "a")
    (created,) = announce(tmp_path)
    assert (created.order_key or "") >= (removed.order_key or "")


def test_no_file_is_stamped_earlier_than_the_clock_that_removals_have(tmp_path: Path) -> None:
    # The kernel's stamps lag behind the clock by a few milliseconds, until somebody has looked at the file.
    for number in range(1_000):
        now = read_file_clock()
        write(tmp_path / str(number), "1")
        assert (tmp_path / str(number)).stat().st_ctime_ns >= now


def test_missing_root_folder_is_no_removal_of_its_files(tmp_path: Path) -> None:
    queue = MemoryQueue()
    with pytest.raises(SourceUnavailableError):
        build_watcher(tmp_path / "gone", queue, {"a": "x"}).announce_existing()
    assert read_queue(queue) == []


def test_a_folder_that_is_unmounted_keeps_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mount point is still there, empty, and on another device."""
    write(tmp_path / "a", "1")
    queue = MemoryQueue()
    running = build_watcher(tmp_path, queue)
    running.announce_existing()
    assert [event.key for event in read_events(queue)] == ["a"]
    (tmp_path / "a").unlink()
    with monkeypatch.context() as patched:
        patched.setattr(watcher, "find_identity", lambda _root: (-1, 1))
        running.announce_existing()
        assert read_events(queue) == []
    running.announce_existing()
    assert [event.kind for event in read_events(queue)] == ["removed"]


def test_a_name_that_is_not_utf8_goes_to_quarantine_once_and_the_others_arrive(tmp_path: Path) -> None:
    write(tmp_path / "good", "1")
    write(tmp_path / os.fsdecode(b"bad-\xff"), "1")
    tables, ids = Tables(), []
    for _ in range(2):
        queue = MemoryQueue()
        build_watcher(tmp_path, queue).announce_existing()
        build_consumer(queue, tables).run_once(empty_poll_seconds=0.01)
        ids.append(tables.quarantine.pop().quarantine_id)
    assert set(tables.keys) == {"good"}
    assert len(set(ids)) == 1
    assert {captured.source for captured in tables.events} == {"listing"}


def test_the_start_does_not_wait_for_ever_on_a_full_queue(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / str(number), "1")
    stop = threading.Event()
    watcher = build_watcher(tmp_path, MemoryQueue(capacity=1))
    thread = threading.Thread(target=watcher.announce_existing, args=(stop,))
    thread.start()
    stop.set()
    thread.join(20)
    assert not thread.is_alive()


def test_changes_are_announced_as_they_happen(tmp_path: Path) -> None:
    write(tmp_path / "existing", "1")
    with watch(tmp_path) as watched:
        watched.wait_for(1)
        write(tmp_path / "new" / "deep" / "file", "12", age=0)
        watched.wait_for(2)
        write(tmp_path / "existing", "123", age=0)
        watched.wait_for(3)
        (tmp_path / "existing").unlink()
        watched.wait_for(4)
    assert watched.seen == [
        ("created", "existing"),
        ("created", "new/deep/file"),
        ("created", "existing"),
        ("removed", "existing"),
    ]
    keys = [event.order_key for event in watched.events if event.key == "existing"]
    assert keys == sorted(keys, key=str)


def write_slowly(path: Path, chunks: int) -> float:
    """Append to a file for longer than it takes to settle; return the longest pause in seconds."""
    longest, last = 0.0, time.monotonic()
    with path.open("w") as file:
        for _ in range(chunks):
            # No `fsync`: on a busy disk it takes longer than a file takes to settle.
            file.write("x" * 100)
            file.flush()
            now = time.monotonic()
            longest, last = max(longest, now - last), now
            time.sleep(0.05)
    return max(longest, time.monotonic() - last)


def test_a_file_is_announced_once_when_it_is_complete(tmp_path: Path) -> None:
    settle_seconds, chunks = 0.5, 20
    for attempt in range(10):
        root = tmp_path / str(attempt)
        root.mkdir()
        with watch(root, settle_seconds) as watched:
            pause = write_slowly(root / "slow", chunks)
            watched.wait_for(1)
        # A file that a busy machine left alone for so long counts as complete.
        if pause < settle_seconds / 2:
            break
    else:
        pytest.fail(f"each attempt paused for more than {settle_seconds / 2:g} s")
    (event,) = watched.events
    assert event.size == 100 * chunks


def test_a_temporary_file_is_announced_under_the_name_it_gets(tmp_path: Path) -> None:
    with watch(tmp_path) as watched:
        write(tmp_path / "a.csv.tmp", "1", age=0)
        (tmp_path / "a.csv.tmp").rename(tmp_path / "a.csv")
        watched.wait_for(1)
    assert watched.seen == [("created", "a.csv")]


def test_a_folder_moved_in_or_out_is_announced_file_by_file(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for name in ("x", "y/z"):
        write(tmp_path / "aside" / name, "1")
    with watch(root) as watched:
        (tmp_path / "aside").rename(root / "in")
        watched.wait_for(2)
        (root / "in").rename(tmp_path / "aside")
        watched.wait_for(4)
    assert sorted(watched.seen) == [
        ("created", "in/x"),
        ("created", "in/y/z"),
        ("removed", "in/x"),
        ("removed", "in/y/z"),
    ]


def test_a_folder_that_went_away_is_watched_again_when_it_is_back(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root / "a", "1")
    with watch(root) as watched:
        watched.wait_for(1)
        root.rename(tmp_path / "elsewhere")
        shutil.copytree(tmp_path / "elsewhere", root)
        write(root / "b", "1", age=0)
        watched.wait_for(2)
    assert watched.seen[:2] == [("created", "a"), ("created", "b")]

"""Whatever is done to a folder, between runs or during one: the newest events tell what it holds."""

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headwater.config.source import LocalSourceConfig
from headwater.sources.local.folder_watcher import FolderWatcher, change_feed, watcher
from headwater.sources.local.folder_watcher.change_feed import find_identity
from headwater.sources.local.folder_watcher.file_messages import FILE_FIELD, parse_order
from headwater.sources.local.folder_watcher.known_files import KnownFile
from headwater.sources.local.lister import LocalLister, is_utf8
from headwater.sources.memory.queue import MemoryQueue
from headwater.sources.message_parser import parse_message
from headwater.sources.object_event import ObjectEvent
from tests.fixtures.waiting import wait_until

OLD = 1_767_225_600_000_000_000
HOUR_NS = 3_600_000_000_000


def write(path: Path, text: str, modified_ns: int = OLD) -> None:
    """A file whose size and modification time are those of others of the same length."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, ns=(modified_ns, modified_ns))


@dataclass
class Observed:
    """A folder, the events that were announced, and the content that each of them was about."""

    root: Path
    queue: MemoryQueue = field(default_factory=MemoryQueue)
    events: list[ObjectEvent] = field(default_factory=list)
    contents: dict[str, str] = field(default_factory=dict)

    def watcher(self, settle_seconds: float = 0.0) -> FolderWatcher:
        """As after a restart: it knows what the events say."""
        config = LocalSourceConfig(type="local", path=self.root, settle_seconds=settle_seconds)
        return FolderWatcher(config, self.fold(), self.queue)

    def restart(self) -> int:
        """What a start announces; returns the number of events."""
        before = len(self.events)
        self.watcher().announce_existing()
        self.receive()
        return len(self.events) - before

    def receive(self) -> None:
        while found := self.queue.receive(10, 0):
            for message in found:
                self.events.extend(parse_message(message.body).events)
            self.queue.ack({message.message_id: message.receipt_handle for message in found})
        for event in self.events:
            path = self.root / event.key
            if event.event_id not in self.contents and event.kind == "created" and path.is_file():
                self.contents[event.event_id] = path.read_text()

    def fold(self) -> dict[str, KnownFile]:
        """The newest event of each key, as the events table has it."""
        known: dict[str, KnownFile] = {}
        for event in sorted(self.events, key=lambda event: event.order_key or ""):
            order = parse_order(event.order_key or "")
            if event.kind == "removed":
                before = known[event.key]
                known[event.key] = KnownFile(before.etag, order, False, before.identity, before.digest)
            else:
                output = json.loads(event.raw)[FILE_FIELD]
                known[event.key] = KnownFile(
                    event.etag or "", order, True, output["identity"], output["digest"]
                )
        return known

    def tell(self) -> dict[str, str]:
        """Content by key, as the newest events tell."""
        newest: dict[str, ObjectEvent] = {}
        for event in sorted(self.events, key=lambda event: event.order_key or ""):
            newest[event.key] = event
        return {
            key: self.contents.get(event.event_id, "?")
            for key, event in newest.items()
            if event.kind == "created"
        }

    def show(self) -> dict[str, str]:
        """Content by key, as the folder shows."""
        return {
            found.key: (self.root / found.key).read_text()
            for found in LocalLister(self.root).iter_objects()
            if is_utf8(found.key)
        }

    def check(self) -> None:
        assert self.tell() == self.show()
        ids = [event.event_id for event in self.events]
        assert len(ids) == len(set(ids)), "an event has an id that was there before"


Step = Callable[[Path], object]


def relink(name: str) -> Step:
    """Swap a release: the link is replaced at once."""

    def step(root: Path) -> None:
        (root / ".new").symlink_to(name)
        (root / ".new").rename(root / "current")

    return step


def rename(source: str, target: str) -> Step:
    return lambda root: (root / source).rename(root / target)


def rewrite(key: str, text: str) -> Step:
    return lambda root: write(root / key, text)


def replace(key: str, text: str) -> Step:
    """As programs that write a temporary file first do."""

    def step(root: Path) -> None:
        write(root / ".temporary", text)
        (root / ".temporary").rename(root / key)

    return step


def to_folder(root: Path) -> None:
    (root / "r1/a").unlink()
    write(root / "r1/a/inner", "inside")


def to_file(root: Path) -> None:
    shutil.rmtree(root / "r1/a")
    write(root / "r1/a", "one")


def to_pipe(root: Path) -> None:
    (root / "r1/a").unlink()
    os.mkfifo(root / "r1/a")


def to_dangling_link(root: Path) -> None:
    (root / "r1/a").unlink()
    (root / "r1/a").symlink_to("nothing")


def to_link_that_leads_out(root: Path) -> None:
    (root / "r1/a").unlink()
    write(root.parent / "outside", "secret")
    (root / "r1/a").symlink_to(root.parent / "outside")


def to_link_to_itself(root: Path) -> None:
    (root / "r1/a").unlink()
    (root / "r1/a").symlink_to("a")


def swap(root: Path) -> None:
    (root / "r1").rename(root / ".aside")
    (root / "r2").rename(root / "r1")
    (root / ".aside").rename(root / "r2")


SCENARIOS: dict[str, list[Step]] = {
    "a folder moved away and back": [rename("r1", "../away"), rename("../away", "r1")],
    "a folder moved away, another in its place, and back": [
        rename("r1", "../away"),
        rename("r2", "r1"),
        rename("r1", "r2"),
        rename("../away", "r1"),
    ],
    "a release swapped and rolled back by a link": [relink("r1"), relink("r2"), relink("r1"), relink("r2")],
    "a release swapped and rolled back by renames": [
        rename("r1", "current"),
        rename("current", "r1"),
        rename("r2", "current"),
        rename("current", "r2"),
        rename("r1", "current"),
    ],
    "two folders swapped and swapped back": [swap, swap],
    "a folder renamed and back": [rename("r1", "r3"), rename("r3", "r1")],
    "a file moved away and back": [rename("r1/a", "../a"), rename("../a", "r1/a")],
    "two files that change names": [
        rename("r1/a", "r1/.t"),
        rename("r1/b", "r1/a"),
        rename("r1/.t", "r1/b"),
    ],
    "a rewrite of equal size and time": [rewrite("r1/a", "ONE"), rewrite("r1/a", "one")],
    "a replacement of equal size and time": [replace("r1/a", "ONE"), replace("r1/a", "one")],
    "a replacement with an older time": [lambda root: write(root / "r1/a", "older", OLD - HOUR_NS)],
    "a time in the future": [lambda root: write(root / "r1/a", "later", time.time_ns() + HOUR_NS)],
    "a time of no calendar": [lambda root: os.utime(root / "r1/a", (2**37, 2**37))],
    "a time before 1970": [lambda root: os.utime(root / "r1/a", (-(10**6), -(10**6)))],
    "a file that becomes a folder and back": [to_folder, to_file],
    "a file that becomes a pipe": [to_pipe],
    "a file that becomes a link to nothing": [to_dangling_link],
    "a file that becomes a link that leads out": [to_link_that_leads_out],
    "a file that becomes a link to itself": [to_link_to_itself],
    "a name in another case and back": [rename("r1/a", "r1/A"), rename("r1/A", "r1/a")],
    "a folder's name in another case": [rename("r1", "R1"), rename("R1", "r1")],
    "a hard link, written to and taken away": [
        lambda root: os.link(root / "r1/a", root / "r1/second"),
        rewrite("r1/second", "both"),
        rewrite("r1/second", "BOTH"),
        lambda root: (root / "r1/a").unlink(),
    ],
    "a file emptied and filled again": [rewrite("r1/a", ""), rewrite("r1/a", "one")],
    "all removed and made again": [
        lambda root: shutil.rmtree(root / "r1"),
        lambda root: [write(root / "r1/a", "one"), write(root / "r1/b", "two")],
    ],
}


@pytest.fixture
def observed(tmp_path: Path) -> Observed:
    root = tmp_path / "root"
    # Equal sizes and times: only content and inode tell these files apart.
    for key, text in {"r1/a": "one", "r1/b": "two", "r2/a": "six", "r2/b": "ten"}.items():
        write(root / key, text)
    found = Observed(root)
    found.restart()
    return found


@pytest.mark.parametrize("steps", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_nothing_runs_between_the_steps(observed: Observed, steps: list[Step]) -> None:
    for step in steps:
        step(observed.root)
        observed.restart()
        observed.check()
    assert observed.restart() == 0


@pytest.mark.parametrize("steps", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_nothing_runs_until_all_steps_are_done(observed: Observed, steps: list[Step]) -> None:
    for step in steps:
        step(observed.root)
    observed.restart()
    observed.check()
    assert observed.restart() == 0


@contextmanager
def watching(observed: Observed) -> Iterator[None]:
    stop = threading.Event()
    running = observed.watcher(0.05)
    thread = threading.Thread(target=running.run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


def test_every_scenario_while_a_watcher_runs(observed: Observed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "RESCAN_SECONDS", 3600.0)
    monkeypatch.setattr(change_feed, "_DEBOUNCE_MS", 40)
    monkeypatch.setattr(change_feed, "_STEP_MS", 10)

    def is_told() -> bool:
        observed.receive()
        return observed.tell() == observed.show()

    with watching(observed):
        for name, steps in SCENARIOS.items():
            for at, step in enumerate(steps):
                step(observed.root)
                wait_until(is_told, f"{name}, step {at}")
            shutil.rmtree(observed.root / "r1", ignore_errors=True)
            shutil.rmtree(observed.root / "r2", ignore_errors=True)
            for left in ("current", "R1"):
                path = observed.root / left
                path.unlink() if path.is_symlink() else shutil.rmtree(path, ignore_errors=True)
            for key, text in {"r1/a": "one", "r1/b": "two", "r2/a": "six", "r2/b": "ten"}.items():
                write(observed.root / key, text)
            wait_until(is_told, f"after {name}")
    observed.check()


@pytest.mark.parametrize(
    "touch",
    [
        lambda path: path.chmod(0o640),
        lambda path: os.link(path, path.with_name(".link")),
        lambda path: os.utime(path, ns=(0, OLD)),
        lambda path: path.rename(path.with_name(".t")) and path.with_name(".t").rename(path),
    ],
    ids=["permissions", "hard link", "access time", "renamed and back"],
)
def test_unchanged_content_is_no_event(observed: Observed, touch: Callable[[Path], object]) -> None:
    touch(observed.root / "r1/a")
    assert observed.restart() == 0


def test_a_removal_is_newer_than_a_file_of_a_clock_that_is_ahead(
    observed: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server of a network folder stamps files, this machine stamps removals."""
    now = time.time_ns()
    monkeypatch.setattr(watcher, "read_file_clock", lambda: now - HOUR_NS)
    (observed.root / "r1/a").unlink()
    assert observed.restart() == 1
    observed.check()
    write(observed.root / "r1/a", "new")
    assert observed.restart() == 1
    observed.check()


def test_a_folder_that_comes_back_during_a_listing_has_lost_no_file(
    observed: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is away when its files are looked at, and back when it is asked whether it is away."""
    away = observed.root.with_name("away")

    def leave() -> int:
        observed.root.rename(away)
        return time.time_ns()

    def come_back(folder: Path) -> tuple[int, int] | None:
        if away.exists():
            away.rename(folder)
        return find_identity(folder)

    monkeypatch.setattr(LocalLister, "iter_objects", lambda *_: iter(()))
    monkeypatch.setattr(watcher, "read_file_clock", leave)
    monkeypatch.setattr(watcher, "find_identity", come_back)
    assert observed.restart() == 0


def test_two_orders_in_a_row_are_two_times(observed: Observed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "read_file_clock", lambda: 0)
    (observed.root / "r1/a").unlink()
    observed.restart()
    created, removed = [event for event in observed.events if event.key == "r1/a"]
    assert removed.event_time > created.event_time


def test_a_name_that_is_not_utf8_does_not_end_the_watch(observed: Observed) -> None:
    bodies: list[str] = []

    def receive() -> None:
        while found := observed.queue.receive(10, 0):
            bodies.extend(message.body for message in found)
            observed.queue.ack({message.message_id: message.receipt_handle for message in found})

    def is_announced(key: str) -> bool:
        receive()
        return any(json.loads(body)["Records"][0]["s3"]["object"]["key"] == key for body in bodies)

    folder = observed.root / os.fsdecode(b"bad-\xff")
    with watching(observed):
        time.sleep(0.2)
        folder.mkdir()
        write(folder / "inner", "1")
        write(observed.root / os.fsdecode(b"r1/worse-\xfe.json"), "1")
        write(observed.root / "r1/good", "1")
        wait_until(lambda: is_announced("r1/good"), "the good file")
        wait_until(lambda: is_announced("r1/worse-\udcfe.json"), "the bad name")
        write(observed.root / "r1/later", "1")
        wait_until(lambda: is_announced("r1/later"), "a file after the bad one")
    rejected = [parse_message(body) for body in bodies if "\\udc" in body]
    assert {found.rejected for found in rejected} == {"bad_encoding"}

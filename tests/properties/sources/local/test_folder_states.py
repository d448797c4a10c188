"""Any operations on a folder, observed at any moments, leave events whose newest ones are the folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone

from hypothesis import given
from hypothesis import strategies as st

from headwater.sources.local.folder_watcher.known_files import KnownFile, KnownFiles, choose_order, judge_file
from headwater.sources.local.lister import ListedFile

WHEN = datetime(2026, 5, 1, tzinfo=timezone.utc)
# Few of each, so that files meet others with the same name, time and size.
NAMES = st.sampled_from(["a/x", "a/y", "b/x", "b/y", "c"])
FOLDERS = st.sampled_from(["a/", "b/", "elsewhere/"])
CONTENTS = st.sampled_from(["one", "two", "ten"])
MODIFIED = st.sampled_from([5, 6])
MOMENTS = st.integers(0, 50)

OPERATIONS = st.one_of(
    st.tuples(st.just("write"), NAMES, CONTENTS, MODIFIED),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("touch metadata"), NAMES),
    st.tuples(st.just("swap folders"), FOLDERS, FOLDERS),
    st.tuples(st.just("clock"), MOMENTS),
    st.tuples(st.just("observe")),
    st.tuples(st.just("restart")),
)


@dataclass(frozen=True)
class Inode:
    number: int
    content: str
    modified: int
    changed: int


@dataclass
class Folder:
    """Files by path; those below `elsewhere/` are outside of the source. The clock is set by operations."""

    files: dict[str, Inode] = field(default_factory=dict)
    clock: int = 10
    inodes: int = 0

    def write(self, path: str, content: str, modified: int) -> None:
        self.inodes += 1
        # A rewrite in place never leaves the change time as it was, whatever the clock says.
        earlier = self.files[path].changed + 1 if path in self.files else 0
        self.files[path] = Inode(self.inodes, content, modified, max(self.clock, earlier))

    def touch_metadata(self, path: str) -> None:
        if path in self.files:
            inode = self.files[path]
            self.files[path] = Inode(inode.number, inode.content, inode.modified, inode.changed + 1)

    def swap(self, one: str, other: str) -> None:
        """No file's times change: only those of the folders do."""
        moved = {
            other + path.removeprefix(one) if path.startswith(one) else one + path.removeprefix(other): inode
            for path, inode in self.files.items()
            if path.startswith((one, other))
        }
        rest = {p: inode for p, inode in self.files.items() if not p.startswith((one, other))}
        self.files = rest | moved

    def list(self) -> list[ListedFile]:
        return [
            ListedFile(
                path,
                len(inode.content),
                f"{inode.modified:x}-{len(inode.content):x}",
                None,
                WHEN,
                changed_ns=inode.changed * 1_000,
                identity=f"{inode.changed}-{inode.number}",
            )
            for path, inode in sorted(self.files.items())
            if not path.startswith("elsewhere/")
        ]


@dataclass
class Log:
    """Events as the table keeps them, and what each of them was about."""

    newest: dict[str, KnownFile] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)
    etags: dict[tuple[str, str], str] = field(default_factory=dict)
    announced: int = 0

    def append(self, key: str, file: KnownFile, content: str) -> None:
        before = self.newest.get(key)
        assert before is None or file.order > before.order
        if before is not None and before.etag == file.etag and self.contents.get(key):
            assert self.contents[key] == content, "two contents in a row have one etag"
        self.newest[key] = file
        self.contents[key] = content
        self.announced += 1

    def remove(self, key: str, order: int) -> None:
        before = self.newest[key]
        assert order > before.order
        self.newest[key] = KnownFile(before.etag, order, False, before.identity, before.digest)
        self.announced += 1


def observe(folder: Folder, known: KnownFiles, log: Log) -> None:
    changes = known.compare(folder.list())
    for key in changes.removed:
        order = choose_order(known.get(key), folder.clock * 1_000)
        log.remove(key, order)
        known.remove(key, order)
    for found in changes.changed:
        before = known.get(found.key)
        content = folder.files[found.key].content
        file = judge_file(before, found, f"digest-{content}")
        if before is None or file.order != before.order:
            log.append(found.key, file, content)
        known.put(found.key, file)


def check(folder: Folder, log: Log) -> None:
    present = {p: inode.content for p, inode in folder.files.items() if not p.startswith("elsewhere/")}
    reported: Mapping[str, str] = {
        key: log.contents[key] for key, file in log.newest.items() if file.is_present
    }
    assert reported == present


@given(st.lists(OPERATIONS, max_size=30))
def test_the_newest_events_are_the_folder(operations: list[tuple[str, ...]]) -> None:
    folder, log = Folder(), Log()
    known = KnownFiles({})
    for name, *given_ in operations:
        match name, given_:
            case "write", (path, content, modified):
                folder.write(str(path), str(content), int(modified))
            case "remove", (path,):
                folder.files.pop(str(path), None)
            case "touch metadata", (path,):
                folder.touch_metadata(str(path))
            case "swap folders", (one, other):
                if one != other:
                    folder.swap(str(one), str(other))
            case "clock", (moment,):
                folder.clock = int(moment)
            case "restart", _:
                known = KnownFiles(log.newest)
            case _:
                observe(folder, known, log)
                check(folder, log)
    observe(folder, known, log)
    check(folder, log)
    announced = log.announced
    for path in list(folder.files):
        folder.touch_metadata(path)
    observe(folder, known, log)
    observe(folder, KnownFiles(log.newest), log)
    assert log.announced == announced, "metadata is no news"

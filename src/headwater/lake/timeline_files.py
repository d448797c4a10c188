"""A timeline as files: completion times, which hudi-rs does not tell, are in the names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

TIMELINE_FOLDER = ".hoodie/timeline"
# Cleans, rollbacks, savepoints and whatever is not complete are no commits.
_COMPLETED = re.compile(
    r"(?P<requested>\d{14,17})_(?P<completed>\d{14,17})\.(?P<action>commit|deltacommit|replacecommit)"
)
_PLAN = re.compile(r"(?P<requested>\d{14,17})\.(?P<action>compaction|clustering)\.requested")
_CLEAN_PLAN = re.compile(r"(?P<requested>\d{14,17})\.clean\.requested")
_CONNECT_SECONDS = 10


@dataclass(frozen=True, slots=True, order=True)
class CommitName:
    """One completed write, from its file's name; ordered by completion."""

    completed: str
    requested: str
    action: str


def parse_commit_name(name: str) -> CommitName | None:
    """`<requested>_<completed>.<action>`, or None for any other file."""
    found = _COMPLETED.fullmatch(name)
    return CommitName(found["completed"], found["requested"], found["action"]) if found else None


def list_commit_names(path: str, options: Mapping[str, str]) -> list[CommitName]:
    """Completed writes of the active timeline, oldest first. Raises `OSError`."""
    found = (parse_commit_name(name) for name in ArrowFiles(path, options).list_sizes(TIMELINE_FOLDER))
    return sorted(name for name in found if name is not None)


def find_day_before(instant: str) -> str:
    """The beginning of the day before that of an instant; empty where the text is no time."""
    try:
        day = datetime.strptime(instant[:8], "%Y%m%d") - timedelta(days=1)
    except (ValueError, OverflowError):
        return ""
    return f"{day:%Y%m%d}000000000"


def list_pending_plans(path: str, options: Mapping[str, str], action: str) -> list[str]:
    """Requested times of the compactions or clusterings that are planned and not complete, oldest first.

    Raises `OSError`.
    """
    names = ArrowFiles(path, options).list_sizes(TIMELINE_FOLDER)
    completed = {name.partition("_")[0] for name in names if _COMPLETED.fullmatch(name)}
    plans = (found for name in names if (found := _PLAN.fullmatch(name)) and found["action"] == action)
    return sorted(plan["requested"] for plan in plans if plan["requested"] not in completed)


def read_earliest_retained(path: str, options: Mapping[str, str]) -> str:
    """Requested time of the oldest commit that the newest clean leaves whole; empty without any clean.

    A clean that has not begun yet counts: what it is about to remove may be gone in a moment. Raises
    `OSError`, and `ValueError` for a plan that is none.
    """
    files = ArrowFiles(path, options)
    newest = find_clean_plan(files.list_sizes(TIMELINE_FOLDER))
    return parse_clean_plan(newest, files.read(f"{TIMELINE_FOLDER}/{newest}")) if newest else ""


def find_clean_plan(sizes: Mapping[str, int]) -> str:
    """The newest clean's plan among the files of a timeline; empty for none."""
    # An empty plan is one that is being written.
    return max((name for name, size in sizes.items() if size and _CLEAN_PLAN.fullmatch(name)), default="")


def parse_clean_plan(name: str, content: bytes) -> str:
    """Requested time of the oldest commit that the clean leaves whole. Raises `ValueError`."""
    earliest = read_avro(content).get("earliestInstantToRetain")
    # Other ways to clean than by commits tell of none: then only what came after the clean is whole.
    return str(earliest["timestamp"]) if earliest else name.partition(".")[0]


def read_avro(content: bytes) -> dict[str, Any]:
    """The one record that a file of a timeline holds. Raises `ValueError`."""
    import fastavro

    return cast("dict[str, Any]", next(iter(fastavro.reader(BytesIO(content)))))


class TableFiles(Protocol):
    """The files of one table, by names below its path."""

    def list_sizes(self, folder: str) -> dict[str, int]:
        """Bytes of the files in a folder by their names in it; none for an absent folder."""
        ...

    def read(self, name: str) -> bytes:
        """A whole file."""
        ...


class ArrowFiles:
    """Without a JVM. All methods raise `OSError`."""

    def __init__(self, path: str, options: Mapping[str, str]) -> None:
        self._system, self._root = open_file_system(path, options)

    def list_sizes(self, folder: str) -> dict[str, int]:
        """See `TableFiles.list_sizes`."""
        from pyarrow.fs import FileSelector

        files = self._system.get_file_info(FileSelector(f"{self._root}/{folder}", allow_not_found=True))
        return {file.base_name: file.size or 0 for file in files}

    def read(self, name: str) -> bytes:
        """See `TableFiles.read`."""
        with self._system.open_input_file(f"{self._root}/{name}") as file:
            return cast("bytes", file.read())


def open_file_system(path: str, options: Mapping[str, str]) -> "tuple[FileSystem, str]":
    """The file system of an absolute folder or a URL, and what it calls that place. Raises `OSError`."""
    from pyarrow import fs

    url = urlsplit(path)
    if not url.scheme:
        return fs.LocalFileSystem(), path
    if url.scheme != "s3":
        system, root = fs.FileSystem.from_uri(path)
        return system, root
    endpoint = urlsplit(options.get("aws_endpoint", ""))
    return (
        fs.S3FileSystem(
            access_key=options.get("aws_access_key_id"),
            secret_key=options.get("aws_secret_access_key"),
            session_token=options.get("aws_session_token"),
            anonymous=options.get("aws_skip_signature") == "true",
            region=options.get("aws_region"),
            scheme=endpoint.scheme or "https",
            endpoint_override=endpoint.netloc or None,
            force_virtual_addressing=options.get("aws_virtual_hosted_style_request") == "true",
            connect_timeout=_CONNECT_SECONDS,
        ),
        f"{url.netloc}{url.path}",
    )

"""A timeline as files: completion times, which hudi-rs does not tell, are in the names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

TIMELINE_FOLDER = ".hoodie/timeline"
# Cleans, rollbacks, savepoints and whatever is not complete are no commits.
_COMPLETED = re.compile(
    r"(?P<requested>\d{14,17})_(?P<completed>\d{14,17})\.(?P<action>commit|deltacommit|replacecommit)"
)
_CLEAN_PLAN = re.compile(r"(?P<requested>\d{14,17})\.clean\.requested")
_PLAN = re.compile(r"(?P<requested>\d{14,17})\.(?P<action>compaction|clustering)\.requested")
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
    from pyarrow.fs import FileSelector

    system, root = open_file_system(path, options)
    files = system.get_file_info(FileSelector(f"{root}/{TIMELINE_FOLDER}", allow_not_found=True))
    found = (parse_commit_name(file.base_name) for file in files)
    return sorted(name for name in found if name is not None)


def list_pending_plans(path: str, options: Mapping[str, str], action: str) -> list[str]:
    """Requested times of the compactions or clusterings that are planned and not complete, oldest first.

    Raises `OSError`.
    """
    from pyarrow.fs import FileSelector

    system, root = open_file_system(path, options)
    files = system.get_file_info(FileSelector(f"{root}/{TIMELINE_FOLDER}", allow_not_found=True))
    names = [file.base_name for file in files]
    completed = {name.partition("_")[0] for name in names if _COMPLETED.fullmatch(name)}
    plans = (found for name in names if (found := _PLAN.fullmatch(name)) and found["action"] == action)
    return sorted(plan["requested"] for plan in plans if plan["requested"] not in completed)


def read_earliest_retained(path: str, options: Mapping[str, str]) -> str:
    """Requested time of the oldest commit that the newest clean leaves whole; empty without any clean.

    A clean that has not begun yet counts: what it is about to remove may be gone in a moment. Raises
    `OSError`, and `ValueError` for a plan that is none.
    """
    import fastavro
    from pyarrow.fs import FileSelector

    system, root = open_file_system(path, options)
    files = system.get_file_info(FileSelector(f"{root}/{TIMELINE_FOLDER}", allow_not_found=True))
    # An empty plan is one that is being written.
    plans = {
        found["requested"]: file.path
        for file in files
        if file.size and (found := _CLEAN_PLAN.fullmatch(file.base_name))
    }
    if not plans:
        return ""
    newest = max(plans)
    with system.open_input_file(plans[newest]) as file:
        plan = cast("dict[str, Any]", next(iter(fastavro.reader(file))))
    earliest = plan.get("earliestInstantToRetain")
    # Other ways to clean than by commits tell of none: then only what came after the clean is whole.
    return str(earliest["timestamp"]) if earliest else newest


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

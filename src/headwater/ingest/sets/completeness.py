"""Decides whether a set of files is complete, from a listing of its folder. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.config.table.file_sets import CompleteWhen
from headwater.ingest.sets.names import SetNames, parse_time
from headwater.sources.lister import ListedObject

Contents = Mapping[str, int | None]
"""The files that a manifest lists, with their sizes in bytes as far as it has them."""


@dataclass(frozen=True, slots=True)
class ListedSet:
    """The folder of a set as listed: its files in the order of keys, and the newest file that ends it."""

    name: str
    files: tuple[ListedObject, ...]
    marker: ListedObject | None = None
    manifest: ListedObject | None = None


@dataclass(frozen=True, slots=True)
class CompleteSet:
    """`time` is the one in its name, or without one, when the last of its files changed."""

    name: str
    files: tuple[ListedObject, ...]
    time: datetime


@dataclass(frozen=True, slots=True)
class OpenSet:
    """`missing` says what the set lacks; `due` when it may be complete without another event.

    `awaits_end`: it cannot be complete before an event of its marker or manifest.
    """

    name: str
    missing: str
    due: datetime | None = None
    awaits_end: bool = False


def gather(name: str, listed: Iterable[ListedObject], names: SetNames) -> ListedSet:
    """Return the set with this name of a listing of its folder."""
    files: list[ListedObject] = []
    ends: dict[str, ListedObject] = {}
    for found in listed:
        role = names.find(found.key)
        if role is None or role[0] != name:
            continue
        if role[1] == "file":
            files.append(found)
        elif role[1] not in ends or _is_newer(found, ends[role[1]]):
            ends[role[1]] = found
    return ListedSet(name, tuple(files), ends.get("marker"), ends.get("manifest"))


def _is_newer(found: ListedObject, other: ListedObject) -> bool:
    return (found.last_modified, found.key) > (other.last_modified, other.key)


def judge_set(
    found: ListedSet, rule: CompleteWhen, contents: Contents | None, now: datetime
) -> CompleteSet | OpenSet:
    """Return the complete set, or what it lacks. `contents` are those of its manifest, if there is one."""
    files = found.files
    if rule.manifest is not None:
        if found.manifest is None or contents is None:
            return await_end(found.name, rule.manifest)
        if lacking := _find_lacking(files, contents):
            return OpenSet(found.name, lacking)
        files = tuple(one for one in files if one.key in contents)
    if not files:
        return OpenSet(found.name, "no files")
    if rule.files is not None and len(files) != rule.files:
        return OpenSet(found.name, f"{len(files)} of {rule.files} files")
    if rule.marker is not None and found.marker is None:
        return await_end(found.name, rule.marker)
    ends = [end for end in (found.marker, found.manifest) if end is not None]
    for end in ends:
        if late := _find_late(files, end):
            return OpenSet(found.name, late, awaits_end=True)
    changed = max(one.last_modified for one in (*files, *ends))
    if rule.quiet_for is not None and now < (due := changed + timedelta(seconds=rule.quiet_for)):
        return OpenSet(found.name, f"its last change was at {changed:%Y-%m-%d %H:%M:%S} UTC", due)
    return CompleteSet(found.name, files, parse_time(found.name) or changed)


def await_end(name: str, file: str) -> OpenSet:
    """Return a set that lacks its marker or manifest."""
    return OpenSet(name, f"no file {file!r}", awaits_end=True)


def _find_lacking(files: Sequence[ListedObject], contents: Contents) -> str:
    """Describe files of the manifest that are not there, or have another size; empty if there are none."""
    sizes = {one.key: one.size for one in files}
    lacking = [key for key in contents if key not in sizes]
    if lacking:
        return f"{len(lacking)} of {len(contents)} files of its manifest, such as {lacking[0]!r}"
    for key, size in contents.items():
        if size is not None and size != sizes[key]:
            return f"{key!r} has {sizes[key]} bytes, but {size} in the manifest"
    return ""


def _find_late(files: Sequence[ListedObject], end: ListedObject) -> str:
    """Describe files that changed after the one that ends the set; empty if there are none."""
    late = [one for one in files if one.last_modified > end.last_modified]
    if not late:
        return ""
    return f"{len(late)} files are newer than {end.key!r}, such as {late[0].key!r}: write it again after them"

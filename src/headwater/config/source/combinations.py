"""Checks several sources of one lake against each other. Pure."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.config.problems.problem import KeyPath

if TYPE_CHECKING:
    from headwater.config.source import SourceConfig

Problem = tuple[KeyPath, str]

# Of one bucket, sources may differ in these, too.
_OF_PREFIX = frozenset({"name", "prefix"})
_OF_CLEANING = frozenset(
    {"clean_source", "clean_source_delay", "clean_source_move_to", "clean_source_tags", "settle_seconds"}
)


def iter_name_problems(sources: Sequence["SourceConfig"]) -> Iterator[Problem]:
    """Yield sources of a list without a name, or with the name of another one. Paths begin in the list."""
    names = [source.name for source in sources]
    for at, name in enumerate(names):
        if name is None:
            yield (at, "name"), "missing; each source of a list needs a name, such as `name: landing`"
        elif name in names[:at]:
            yield (at, "name"), f"{name!r} is also the name of another source; choose unique names"


def iter_source_problems(sources: Sequence["SourceConfig"]) -> Iterator[Problem]:
    """Yield sources that conflict with an earlier one. Paths begin in the list."""
    for (_, one), (at, other) in combinations(enumerate(sources), 2):
        found = list(_iter_conflicts(one, other))
        yield from (((at, key), text) for key, text in found)
        if not found:
            yield from (((at, key), text) for key, text in _iter_queue_conflicts(one, other))
    for at, source in enumerate(sources):
        for other in sources:
            if other is not source and _moves_into(source, other):
                text = (
                    f"{str(source.clean_source_move_to)!r} is inside the source {other.name!r}: moved "
                    "objects would be ingested again; choose another location"
                )
                yield (at, "clean_source_move_to"), text


def _iter_conflicts(one: "SourceConfig", other: "SourceConfig") -> Iterator[tuple[str, str]]:
    if one.type == "local" and other.type == "local":
        yield from _iter_folder_conflicts(one.path, other.path, str(one.name))
    names = {one.known_location, one.location}
    shared = names & {other.known_location, other.location}
    if not shared:
        return
    what = f"source {one.name!r}"
    key = other.location_key
    if one.type != other.type:
        yield (
            key,
            f"{min(shared)!r} is also the name of the bucket of {what} in another cloud, and a lake finds "
            "its objects by bucket and key; use a separate lake for one of them",
        )
        return
    if other.type == "kafka":
        yield key, f"{min(shared)!r} is the cluster of {what}, too; list the topics of both in one source"
        return
    ignored = _OF_PREFIX | _OF_CLEANING | other.queue_keys
    if differing := _find_difference(one, other, ignored):
        yield (
            differing,
            f"differs from that of {what}, whose {key} has the same name in the lake ({min(shared)!r}); set "
            "the same value",
        )
    elif _overlap(one.prefix, other.prefix):
        yield from _iter_prefix_conflicts(one, other)


def _iter_folder_conflicts(one: Path, other: Path, name: str) -> Iterator[tuple[str, str]]:
    first, second = one.resolve(), other.resolve()
    if second.is_relative_to(first) or first.is_relative_to(second):
        yield (
            "path",
            f"{str(other)!r} overlaps the folder {str(one)!r} of source {name!r}: their common files would "
            "be ingested twice; choose separate folders, or one source for both",
        )


def _iter_prefix_conflicts(one: "SourceConfig", other: "SourceConfig") -> Iterator[tuple[str, str]]:
    what = f"{other.prefix!r} overlaps the prefix {one.prefix!r} of source {one.name!r} in the same bucket"
    if one.prefix != other.prefix:
        yield "prefix", f"{what}; choose prefixes of which none begins with the other, or one source for both"
    elif differing := _find_difference(one, other, frozenset({"name"}) | other.queue_keys):
        yield differing, f"differs from that of source {one.name!r}, which has the same objects; set the same"
    elif not _find_difference(one, other, frozenset({"name"})):
        yield "prefix", f"the source equals the source {one.name!r}; remove one of them"


def _iter_queue_conflicts(one: "SourceConfig", other: "SourceConfig") -> Iterator[tuple[str, str]]:
    names = [source.resources.name for source in (one, other) if source.type == "s3" and not source.queue.url]
    if len(names) > 1 and names[0] and names[0] == names[1]:
        yield "resources", f"have the name of those of source {one.name!r}; choose another `name`"
    if other.shared_queue and one.shared_queue == other.shared_queue and one.queue != other.queue:
        yield "queue", f"differs from that of source {one.name!r}, which has the same queue; set the same"


def _overlap(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _find_difference(one: "SourceConfig", other: "SourceConfig", ignored: frozenset[str]) -> str | None:
    """Return the first key with different values, or None."""
    return next(
        (
            key
            for key in type(other).model_fields
            if key not in ignored and getattr(one, key) != getattr(other, key)
        ),
        None,
    )


def _moves_into(source: "SourceConfig", other: "SourceConfig") -> bool:
    """True if cleaned objects of the source are moved to where the other source finds them."""
    target = source.clean_source_move_to
    if target is None or source.type != other.type:
        return False
    if source.type == "local":
        return Path(target).resolve().is_relative_to(Path(other.location).resolve())
    bucket, _, prefix = source.clean_source_target.partition("/")
    return bucket == other.location and _overlap(f"{prefix}{source.prefix}", other.prefix)

"""Names of sets: the folder of a file, its order among the others, and the time that it names. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Literal

from headwater.config.table.file_sets import CompleteWhen, find_set_folder
from headwater.ingest.planning.plan import Location, Scope
from headwater.ingest.planning.selection import compile_globs, find_beginnings, matches

Role = Literal["file", "marker", "manifest"]

_DIGITS = re.compile(r"(\d+)")
_NEXT = r"(?:-|_|/|/month=|/day=|)"
_TIME = re.compile(
    rf"(?<!\d)(\d{{4}}){_NEXT}(\d{{1,2}}){_NEXT}(\d{{1,2}})"
    r"(?:[T _/-](?:hour=)?(\d{2})(?:[:-]?(\d{2})(?:[:-]?(\d{2}))?)?Z?)?(?!\d)"
)


@dataclass(frozen=True, slots=True)
class SetNames:
    """Which set a key belongs to. A set's name is the prefix of the keys of its files."""

    scope: Scope
    glob: str
    depth: int
    folder: re.Pattern[str] | None
    marker: re.Pattern[str] | None
    manifest: re.Pattern[str] | None

    @property
    def location(self) -> Location:
        """Where the sets are: a table with sets takes objects of one source."""
        return self.scope.locations[0]

    def find(self, key: str) -> tuple[str, Role] | None:
        """Return the set of a key, and what the file is in it; None if it belongs to none."""
        relative = self.scope.relative_key(self.location.bucket, key)
        if relative is None:
            return None
        parts = relative.split("/")
        folder, inner = "/".join(parts[: self.depth]), "/".join(parts[self.depth :])
        if len(parts) <= self.depth or (self.folder is not None and not matches(self.folder, folder)):
            return None
        name = key[: len(key) - len(inner)]
        if self.marker is not None and matches(self.marker, inner):
            return name, "marker"
        if self.manifest is not None and matches(self.manifest, inner):
            return name, "manifest"
        return (name, "file") if self.scope.selector(relative) is None else None

    def show(self, name: str) -> str:
        """Return a set's name as users know it: its folder, relative to the source."""
        return (self.scope.relative_key(self.location.bucket, name) or name).rstrip("/") or "."

    def widen(self, scope: Scope) -> Scope:
        """Return the scope with the keys of sets only, markers and manifests included."""
        beginnings = find_beginnings([f"{self.glob}/" if self.glob else ""])
        return replace(scope, selector=lambda relative: self._exclude(scope, relative), beginnings=beginnings)

    def _exclude(self, scope: Scope, relative: str) -> str | None:
        found = self.find(self.location.prefix + relative)
        return None if found is not None else scope.selector(relative) or "complete_when.folder"


def build_set_names(paths: Sequence[str], rule: CompleteWhen, scope: Scope) -> SetNames:
    """Return the names of the sets of a table with these globs."""
    folder = (find_set_folder(paths) or "") if rule.folder is None else rule.folder.strip("/")
    marker, manifest = (compile_globs([text])[0] if text else None for text in (rule.marker, rule.manifest))
    pattern = compile_globs([folder])[0] if folder else None
    depth = len(folder.split("/")) if folder else 0
    return SetNames(scope, folder, depth, pattern, marker, manifest)


def order_name(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return the order of a set among the others: numbers in names count as numbers."""
    parts = _DIGITS.split(name)
    return tuple((1, int(part), part) if at % 2 else (0, 0, part) for at, part in enumerate(parts))


def parse_time(name: str) -> datetime | None:
    """Return the date or time in a set's name, as UTC.

    Such as `2026-11-05`, `20261105T0600` or `year=2026/month=11/day=05`.
    """
    for found in _TIME.finditer(name):
        year, month, day, hour, minute, second = (int(part or 0) for part in found.groups())
        try:
            return datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
        except ValueError:
            continue
    return None

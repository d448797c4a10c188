"""Groups the keys of a source into tables: by folder and format. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from wcmatch import glob

from headwater.config.file_format import COMPRESSION_SUFFIXES, FileFormat, infer_format, is_archive
from headwater.config.table_names import build_table_name
from headwater.sources.lister import ListedObject

# Folders that divide one table: `day=2026-01-01`, `2026`, `v2`, `part-3`.
_DIVIDES = re.compile(r".*=.*|v?\d.*|(part|shard|bucket|batch|chunk|year|month|day)[-_]?\d+", re.IGNORECASE)
# Folders that describe a step, not the rows.
_STEPS = frozenset(
    {
        *("archive", "current", "data", "done", "export", "exports", "files", "import", "in", "inbox"),
        *("incoming", "input", "landing", "latest", "new", "out", "processed", "raw"),
    }
)
_NO_DATA = re.compile(r"(readme|license|licence|changelog|manifest)\b", re.IGNORECASE)
_MOST_NAMES = 20


@dataclass(frozen=True, slots=True)
class Group:
    """Objects of one table: those below `folder` with a format; `stem` begins the names of a split folder."""

    folder: str
    format: FileFormat
    objects: tuple[ListedObject, ...]
    stem: str = ""

    @property
    def path(self) -> str:
        """Return the glob that selects the objects, relative to the source."""
        endings = sorted({find_ending(one.key) for one in self.objects})
        ending = endings[0] if len(endings) == 1 else f"{{{','.join(endings)}}}"
        if self.stem:
            names = {one.key for one in self.objects}
            return glob.escape(names.pop()) if len(names) == 1 else f"{glob.escape(self.stem)}[0-9]*.{ending}"
        return f"{glob.escape(self.folder)}/**/*.{ending}" if self.folder else f"*.{ending}"


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups, and the keys that belong to none."""

    groups: tuple[Group, ...]
    ignored: tuple[str, ...]


def group_objects(objects: Iterable[ListedObject]) -> Grouping:
    """Group objects by the folder that seems to hold a table, and by format.

    Folders without files of their own are passed through, unless their sub-folders divide one table.
    Documents next to data are ignored, and so are files whose names imply no format.
    """
    found: list[tuple[ListedObject, FileFormat]] = []
    ignored: list[str] = []
    for one in objects:
        if any(part.startswith((".", "_")) for part in one.key.split("/")):
            continue  # a writer's markers, or the files of a Hudi or Delta table
        implied = None if is_archive(one.key) else infer_format(glob.escape(one.key.rsplit("/", 1)[-1]))
        if implied is None or _NO_DATA.match(one.key.rsplit("/", 1)[-1]):
            ignored.append(one.key)
        else:
            found.append((one, implied))
    tops = {_find_top(one.key) for one, implied in found if implied != "document"}
    kept = [
        (one, implied)
        for one, implied in found
        if implied != "document" or (_find_top(one.key) and _find_top(one.key) not in tops)
    ]
    tree = _Tree(one.key for one, _ in kept)
    placed = sorted(((tree.find_folder(one.key), implied, one.key, one) for one, implied in kept), key=_order)
    groups = (
        Group(folder, implied, tuple(item[3] for item in items))
        for (folder, implied), items in groupby(placed, key=lambda item: (item[0], item[1]))
    )
    return Grouping(tuple(groups), tuple(ignored))


def _order(item: tuple[str, FileFormat, str, ListedObject]) -> tuple[str, str, str]:
    return item[0], item[1], item[2]


def split_by_name(group: Group) -> list[Group]:
    """Split the files of the source's top folder by the text before their first digit.

    Returns the group alone if that gives one group, or too many to be tables.
    """
    if group.folder:
        return [group]
    stems: dict[str, list[ListedObject]] = {}
    for one in group.objects:
        name = one.key.removesuffix(f".{find_ending(one.key)}")
        stem = re.split(r"\d", name, maxsplit=1)[0]
        stems.setdefault(stem if stem != name else one.key, []).append(one)
    if not 1 < len(stems) <= _MOST_NAMES or "" in stems:
        return [group]
    return [replace(group, objects=tuple(found), stem=stem) for stem, found in sorted(stems.items())]


def join_siblings(groups: Sequence[Group]) -> Group:
    """Return groups of one parent folder as one."""
    objects = tuple(one for group in groups for one in group.objects)
    return Group(find_parent(groups[0]), groups[0].format, objects)


def find_parent(group: Group) -> str:
    """Return the folder that contains the group's; empty for the source itself."""
    return group.folder.rpartition("/")[0]


def name_groups(groups: Sequence[tuple[Group, FileFormat]]) -> list[str]:
    """Return a table name for each group, given its format; no two are equal."""
    short = [_name(group, form) for group, form in groups]
    names: list[str] = []
    for (group, form), name in zip(groups, short, strict=True):
        others = [other for (other, _), same in zip(groups, short, strict=True) if same == name]
        if len(others) == 1:
            wanted = name
        elif len({other.folder for other in others}) == len(others):
            wanted = build_table_name(group.folder or form)
        else:
            wanted = f"{name}_{form}"
        number, unique = 1, wanted
        while unique in names:
            number += 1
            unique = f"{wanted}_{number}"
        names.append(unique)
    return names


def _name(group: Group, form: FileFormat) -> str:
    if not group.folder:
        one = group.objects[0].key if len(group.objects) == 1 else ""
        return build_table_name((group.stem or one).split(".")[0] or form)
    parts = group.folder.split("/")
    telling = [part for part in parts if part.lower() not in _STEPS]
    return build_table_name(telling[-1] if telling else parts[-1])


def find_partition_columns(keys: Iterable[str]) -> tuple[str, ...]:
    """Return the names of `name=value` folders that all keys have."""
    found: dict[str, None] | None = None
    for key in keys:
        names = dict.fromkeys(part.partition("=")[0] for part in key.split("/")[:-1] if "=" in part)
        found = names if found is None else {name: None for name in found if name in names}
    return tuple(name for name in found or {} if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name))


def find_ending(key: str) -> str:
    """Return the ending of a name, with that of its compression: `csv.gz`."""
    parts = key.rsplit("/", 1)[-1].split(".")
    count = 1
    while count < len(parts) - 1 and parts[-count].lower() in COMPRESSION_SUFFIXES:
        count += 1
    return ".".join(parts[-count:])


def _find_top(key: str) -> str:
    return key.split("/", 1)[0] if "/" in key else ""


class _Tree:
    """Folders with data files, and the names of each folder's sub-folders."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._with_files: set[str] = set()
        self._children: dict[str, set[str]] = {}
        for key in keys:
            folder = key.rpartition("/")[0]
            self._with_files.add(folder)
            while folder:
                parent, _, name = folder.rpartition("/")
                self._children.setdefault(parent, set()).add(name)
                folder = parent

    def find_folder(self, key: str) -> str:
        """Return the table's folder: the first one with files, or with sub-folders that divide it."""
        parts = key.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            if folder in self._with_files or any(map(_DIVIDES.fullmatch, self._children.get(folder, ()))):
                return folder
        return ""

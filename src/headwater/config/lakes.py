"""A file with several lakes: `lakes` has the keys of each, and the keys next to it are shared. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from headwater.config.problems.problem import Data, KeyPath, Problem, value_at

LAKES = "lakes"


@dataclass(frozen=True, slots=True)
class ChosenLake:
    """The configuration of one lake, as if the file had no other. `name` is empty if it has none."""

    data: Data
    name: str = ""

    def locate(self, path: KeyPath, file: Data) -> KeyPath:
        """Return where the file has the key of this configuration, or its nearest parent: with the lake, or
        shared."""
        own = (LAKES, self.name, *path)
        is_own = bool(self.name) and _count_found(file, own) - 2 >= _count_found(file, path)
        return own if is_own else path


def choose_lake(file: Data, name: str) -> tuple[ChosenLake, list[Problem]]:
    """Return the lake of that name, or the only one: its keys take precedence, section by section."""
    if LAKES not in file:
        problem = Problem((), f"has no `{LAKES}`, so no lake {name!r}. Omit --lake-name")
        return ChosenLake(file), [problem] if name else []
    shared = {key: value for key, value in file.items() if key != LAKES}
    lakes = file[LAKES]
    if not isinstance(lakes, dict) or not lakes:
        return ChosenLake(shared), [Problem((LAKES,), "must be a mapping of names to configurations")]
    allowed = f"Allowed: {', '.join(map(str, lakes))}"
    if not name and len(lakes) > 1:
        text = f"has several lakes: choose one with --lake-name, before the command. {allowed}"
        return ChosenLake(shared), [Problem((LAKES,), text)]
    name = name or next(iter(lakes))
    if name not in lakes:
        return ChosenLake(shared), [Problem((LAKES,), f"unknown lake {name!r}. {allowed}")]
    own = lakes[name]
    if not isinstance(own, dict):
        return ChosenLake(shared), [Problem((LAKES, name), "must be a mapping, as a file with one lake is")]
    if LAKES in own:
        return ChosenLake(shared), [Problem((LAKES, name, LAKES), "a lake has no lakes in it")]
    chosen = _merge(shared, own)
    return ChosenLake(chosen, name), list(_iter_same_location(shared, lakes, name, chosen.get("lake")))


def _iter_same_location(shared: Data, lakes: Data, name: str, location: object) -> Iterator[Problem]:
    for other, own in lakes.items():
        if other != name and isinstance(own, dict) and own.get("lake", shared.get("lake")) == location:
            text = f"{location!r} is also the location of the lake {other!r}: each needs one of its own"
            yield Problem(("lake",), text)


def list_lakes(file: Data) -> list[str]:
    """Return the names of the lakes of a file; empty if it has one without a name."""
    lakes = file.get(LAKES)
    return list(map(str, lakes)) if isinstance(lakes, dict) else []


def _merge(shared: Data, own: Data) -> Data:
    merged = {**shared, **own}
    for key in shared.keys() & own.keys():
        before, after = shared[key], own[key]
        if isinstance(before, dict) and isinstance(after, dict) and not _differ_in_type(before, after):
            merged[key] = _merge(before, after)
    return merged


def _differ_in_type(before: Data, after: Data) -> bool:
    """True for two sections such as sources of two types, which have different keys."""
    return "type" in after and before.get("type") != after["type"]


def _count_found(data: Data, path: KeyPath) -> int:
    """Return how many parts of the path exist, from its beginning."""
    return max(length for length in range(len(path) + 1) if length == 0 or _has(data, path[:length]))


def _has(data: Data, path: KeyPath) -> bool:
    parent = value_at(data, path[:-1])
    if isinstance(parent, dict):
        return path[-1] in parent
    return isinstance(parent, list) and isinstance(path[-1], int) and path[-1] < len(parent)

"""Writes docs/reference/dependencies.md: packages, megabytes and licences of each extra, as installed."""

import importlib.metadata
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).resolve().parent.parent / "docs/reference/dependencies.md"
BEGIN, END = "<!-- begin: generated -->", "<!-- end: generated -->"
CORE = "core"
# Not in every clone: `make setup` installs a Java only where there is none, and never what fetches models.
NOT_INSTALLED = frozenset({"all", "java", "fastembed", "sentence-transformers"})

# Classifiers and free texts as SPDX identifiers; others stay as they are.
_SPDX = (
    (r"lgpl.*v2 or later|lgplv2\+", "LGPL-2.1-or-later"),
    (r"mozilla public license 2|^mpl 2", "MPL-2.0"),
    (r"^apache[\w ,.]*2\.0|^apache software license", "Apache-2.0"),
    (r"^mit license$|^mit$", "MIT"),
    (r"3-clause bsd|^bsd license|new bsd", "BSD-3-Clause"),
    (r"python software foundation", "PSF-2.0"),
    (r"^isc license", "ISC"),
)


@dataclass(frozen=True, slots=True)
class Package:
    """An installed package, with the size of its files in bytes."""

    name: str
    licence: str
    size: int


def find_licence(found: Distribution) -> str:
    """Return the licence as an SPDX expression, or as the package states it; empty if it states none."""
    stated = _find_fields(found, "License-Expression")
    if stated:
        return stated[0]
    classifiers = _find_fields(found, "Classifier")
    names = [one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License ::")]
    names = [name for name in names if name != "OSI Approved"] or _find_fields(found, "License")
    return " OR ".join(dict.fromkeys(map(to_spdx, names)))


def _find_fields(found: Distribution, name: str) -> list[str]:
    # Python 3.10's metadata has no `get`.
    return found.metadata.get_all(name) or []


def to_spdx(name: str) -> str:
    """Return the SPDX identifier of a licence that is known by another name."""
    first = next(iter(name.strip().splitlines()), "")
    return next((spdx for pattern, spdx in _SPDX if re.search(pattern, first.lower())), first)


def find_closure(requirement: str, seen: dict[tuple[str, frozenset[str]], Distribution]) -> None:
    """Add the installed packages that a requirement leads to. Raises `PackageNotFoundError`."""
    wanted = Requirement(requirement)
    key = (canonicalize_name(wanted.name), frozenset(wanted.extras))
    if key in seen:
        return
    found = seen[key] = importlib.metadata.distribution(wanted.name)
    for required in found.requires or ():
        marker = Requirement(required).marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *wanted.extras)):
            find_closure(required, seen)


def list_packages(extra: str) -> dict[str, Package]:
    """Return the packages of headwater with an extra, by name, without headwater itself."""
    seen: dict[tuple[str, frozenset[str]], Distribution] = {}
    find_closure("headwater" if extra == CORE else f"headwater[{extra}]", seen)
    found = {name: one for (name, _), one in seen.items() if name != "headwater"}
    return {
        name: Package(name, find_licence(one), sum(file.size or 0 for file in one.files or ()))
        for name, one in sorted(found.items())
    }


def list_extras() -> list[str]:
    """Return the extras that every clone has installed, in the order of pyproject.toml."""
    found = importlib.metadata.metadata("headwater").get_all("Provides-Extra") or []
    return [extra for extra in found if extra not in NOT_INSTALLED]


def render(packages: Mapping[str, Mapping[str, Package]]) -> str:
    """Return the generated part of the page, for the packages of the core and of each extra."""
    core = packages[CORE]
    lines = ["## Sizes", "", "| | packages | MB |", "| --- | --- | --- |"]
    for extra, found in packages.items():
        added = found if extra == CORE else {name: one for name, one in found.items() if name not in core}
        label = "without extras" if extra == CORE else f"`{extra}` adds"
        lines.append(f"| {label} | {len(added)} | {_to_megabytes(added.values())} |")
    users: dict[str, list[str]] = {}
    for extra, found in packages.items():
        for name in found:
            users.setdefault(name, []).append(extra)
    every = {name: one for found in packages.values() for name, one in found.items()}
    lines += ["", "## Licences", "", "| package | licence | needed by |", "| --- | --- | --- |"]
    for name, one in sorted(every.items()):
        needed = "all" if CORE in users[name] else ", ".join(f"`{extra}`" for extra in users[name])
        lines.append(f"| {name} | {one.licence} | {needed} |")
    return "\n".join(lines)


def _to_megabytes(packages: Iterable[Package]) -> str:
    size = sum(package.size for package in packages) / 1_000_000
    return f"{size:,.0f}" if size >= 1 else "less than 1"


def main() -> int:
    """Replace the generated part of the page. Exit code 1 if a package is missing or states no licence."""
    try:
        packages = {extra: list_packages(extra) for extra in (CORE, *list_extras())}
    except PackageNotFoundError as error:
        print(f"error: {error}; run: make setup", file=sys.stderr)
        return 1
    unknown = {one.name for found in packages.values() for one in found.values() if not one.licence}
    if unknown:
        print(f"error: no licence is stated by {', '.join(sorted(unknown))}", file=sys.stderr)
        return 1
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n\n{render(packages)}\n\n{END}{rest.partition(END)[2]}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

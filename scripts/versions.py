"""The places that state the version of this project, and the changelog's section of it.

`python scripts/versions.py 1.2.0` sets all of them, and names the section of the unreleased changes.
"""

import datetime as dt
import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG = Path("CHANGELOG.md")
_UNRELEASED = "## [Unreleased]"
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:rc(\d+))?")

# Each with the version as its only group. Helm requires versions in SemVer's form.
PLACES: Mapping[str, tuple[str, bool]] = {
    "pyproject.toml": (r'^version = "([^"]+)"$', False),
    "src/headwater/version.py": (r'^__version__ = "([^"]+)"$', False),
    "README.md": (r"^Version (\d[^,\s]*)", False),
    "docs/reference/openapi.json": (r'^    "version": "([^"]+)"$', False),
    "deploy/helm/headwater/Chart.yaml": (r"^version: (\S+)$", True),
    "deploy/helm/headwater/Chart.yaml#appVersion": (r'^appVersion: "([^"]+)"$', False),
    "deploy/kubernetes/kustomization.yaml": (r"^    newTag: (\S+)$", False),
    "docs/how-to/deploy/containers.md": (r"headwater:(\d\S*)", False),
    "docs/how-to/deploy/spark-platforms.md": (r"headwater-executor:(\d\S*)", False),
}


def to_semver(version: str) -> str:
    """Return a version such as 1.0.0rc1 in SemVer's form, 1.0.0-rc.1. Raises `ValueError` for any other."""
    found = _VERSION.fullmatch(version)
    if found is None:
        raise ValueError(f"{version!r} is no version of this project; allowed: 1.2.3 and 1.2.3rc1")
    *numbers, candidate = found.groups()
    return ".".join(numbers) + (f"-rc.{candidate}" if candidate else "")


def find_versions(root: Path) -> dict[str, set[str]]:
    """Return the versions that each place states; empty if the place has none."""
    return {
        place: set(re.findall(pattern, (root / place.partition("#")[0]).read_text("utf-8"), re.MULTILINE))
        for place, (pattern, _) in PLACES.items()
    }


def list_differences(root: Path, version: str) -> list[str]:
    """Return one line for each place that does not state this version only."""
    findings = []
    for place, found in find_versions(root).items():
        wanted = to_semver(version) if PLACES[place][1] else version
        if found != {wanted}:
            findings.append(f"{place}: {', '.join(sorted(found)) or 'no version'} instead of {wanted}")
    return findings


def set_version(root: Path, version: str, today: dt.date) -> None:
    """Write the version to all places, and give the unreleased changes this version.

    Raises `ValueError` if it is no version, or if there is nothing to release.
    """
    semver = to_semver(version)
    changelog = release_changes((root / CHANGELOG).read_text("utf-8"), version, today)
    for place, (pattern, is_semver) in PLACES.items():
        path = root / place.partition("#")[0]

        def replace(found: re.Match[str], new: str = semver if is_semver else version) -> str:
            start, end = found.span(1)
            return found[0][: start - found.start()] + new + found[0][end - found.start() :]

        path.write_text(re.sub(pattern, replace, path.read_text("utf-8"), flags=re.MULTILINE), "utf-8")
    (root / CHANGELOG).write_text(changelog, "utf-8")


def release_changes(changelog: str, version: str, today: dt.date) -> str:
    """Return the changelog with an empty unreleased section, and its changes below the version."""
    head, mark, rest = changelog.partition(f"{_UNRELEASED}\n")
    if not mark or not rest.partition("\n## ")[0].strip():
        raise ValueError(f"{CHANGELOG} has no changes below {_UNRELEASED!r}")
    return f"{head}{_UNRELEASED}\n\n## [{version}] - {today}\n{rest}"


def find_notes(changelog: str, version: str) -> str | None:
    """Return the changes of a version; None if the changelog does not have it."""
    found = re.search(rf"^## \[{re.escape(version)}\].*\n([\s\S]*?)(?=^## |\Z)", changelog, re.MULTILINE)
    return found[1].strip() if found else None


def main() -> int:
    """Set the version that is given."""
    if len(sys.argv) != 2:
        print("usage: python scripts/versions.py VERSION, such as 1.2.0 or 1.2.0rc1", file=sys.stderr)
        return 2
    try:
        set_version(ROOT, sys.argv[1], dt.datetime.now(dt.timezone.utc).date())
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"Set the version {sys.argv[1]}. Read the diff, commit it, and run: make release")
    return 0


if __name__ == "__main__":
    sys.exit(main())

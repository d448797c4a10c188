"""Builds what a release consists of in dist/VERSION: `make dist` runs it.

Wheel, source distribution, bill of materials (CycloneDX), release notes and checksums. With --tag, as in
`make release`, it builds from a clean commit only and tags it. It publishes nothing: pushing the tag does.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headwater.lake.prerequisites.packages import list_packages
from scripts.versions import CHANGELOG, find_notes, find_versions, list_differences

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / ".cache/release/bin"


class NotReleasableError(Exception):
    """The commit cannot become a release; the message says why and what to do."""


def list_obstacles(root: Path, version: str, *, changed: str, tagged: str, head: str) -> list[str]:
    """Return what prevents a release of this version.

    `changed` is what `git status --porcelain` prints, `tagged` the commit of the version's tag, or empty.
    """
    found = list_differences(root, version)
    if find_notes((root / CHANGELOG).read_text("utf-8"), version) is None:
        found.append(f"{CHANGELOG} has no section [{version}]; run: python scripts/versions.py {version}")
    if changed:
        found.append(f"files are not committed; commit or remove them:\n{changed}")
    if tagged and tagged != head:
        found.append(f"v{version} is the tag of another commit, {tagged[:12]}; set a new version")
    return found


def to_component(coordinate: str) -> dict[str, Any]:
    """Return the entry of a Maven artifact, `group:artifact:version`, in a bill of materials."""
    group, name, version = coordinate.split(":")[:3]
    purl = f"pkg:maven/{group}/{name}@{version}?type=jar"
    component = {"type": "library", "group": group, "name": name, "version": version, "purl": purl}
    return {**component, "bom-ref": purl, "description": "a jar that Spark loads at run time"}


def add_jars(bom: Mapping[str, Any], coordinates: Iterable[str]) -> dict[str, Any]:
    """Return the bill of materials of the Python packages with the jars that sessions load."""
    jars = [to_component(coordinate) for coordinate in sorted(coordinates)]
    return {**bom, "components": [*bom.get("components", []), *jars]}


def write_checksums(folder: Path) -> None:
    """Write SHA256SUMS of all files in the folder, as `sha256sum --check` reads it."""
    files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(lines), "utf-8")


def build(root: Path, version: str, folder: Path) -> None:
    """Write the release into an empty folder. Raises `CalledProcessError` if a tool refuses."""
    committed = _run(root, "git", "log", "-1", "--format=%ct")
    env = {**os.environ, "SOURCE_DATE_EPOCH": committed}
    tool = str(TOOLS / "python")
    subprocess.run(
        [tool, "-m", "build", "--no-isolation", "--outdir", str(folder)], cwd=root, env=env, check=True
    )
    packages = [str(path) for path in sorted(folder.iterdir())]
    subprocess.run([tool, "-m", "twine", "check", "--strict", *packages], cwd=root, check=True)
    command = [
        str(TOOLS / "cyclonedx-py"),
        "requirements",
        "--pyproject",
        "pyproject.toml",
        "--output-reproducible",
    ]
    found = subprocess.run(
        [*command, "requirements/runtime.txt"], cwd=root, env=env, check=True, capture_output=True, text=True
    )
    bom = add_jars(json.loads(found.stdout), list_packages(("s3a", "gs", "abfss"), ("delta", "iceberg")))
    (folder / f"headwater-{version}.cdx.json").write_text(f"{json.dumps(bom, indent=1)}\n", "utf-8")
    changelog = (root / CHANGELOG).read_text("utf-8")
    notes = find_notes(changelog, version) or find_notes(changelog, "Unreleased") or ""
    (folder / "NOTES.md").write_text(f"{notes}\n", "utf-8")
    write_checksums(folder)


def _run(root: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def check(root: Path, version: str) -> bool:
    """Return whether the commit has the tag of the version. Raises `NotReleasableError`."""
    head = _run(root, "git", "rev-parse", "HEAD")
    tagged = _run(root, "git", "rev-parse", "--verify", f"refs/tags/v{version}^{{commit}}")
    changed = _run(root, "git", "status", "--porcelain")
    if found := list_obstacles(root, version, changed=changed, tagged=tagged, head=head):
        raise NotReleasableError("\n".join(found))
    return bool(tagged)


def release(root: Path, *, tags: bool) -> Path:
    """Build the current version; with `tags`, tag the commit. Raises `NotReleasableError`."""
    (version,) = find_versions(root)["pyproject.toml"]
    is_tagged = check(root, version) if tags else True
    folder = root / "dist" / version
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    build(root, version, folder)
    if not is_tagged:
        subprocess.run(
            ["git", "tag", "--annotate", f"v{version}", "--message", f"headwater {version}"],
            cwd=root,
            check=True,
        )
    return folder


def main() -> int:
    """Exit code 1 if the commit is not releasable, or a tool refuses."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tag", action="store_true", help="check that the commit is releasable, and tag it")
    tags = parser.parse_args().tag
    try:
        folder = release(ROOT, tags=tags)
    except NotReleasableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"error: {' '.join(map(str, error.cmd[:4]))} failed", file=sys.stderr)
        return 1
    for path in sorted(folder.iterdir()):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size:,} bytes")
    if tags:
        print(f"Tagged v{folder.name}. To publish it: git push origin v{folder.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

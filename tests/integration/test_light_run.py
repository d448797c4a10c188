"""Without any extra, a folder becomes a table that SQL reads. Spark's workers import none either."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.config.extras.packages import MODULES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

# Packages of the core bring these, too.
CORE = {"urllib3", "markdown_it"}
HIDDEN = {module.partition(".")[0] for modules in MODULES.values() for module in modules} - CORE
# Every Python process imports it first.
SITE = f"""
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(HIDDEN)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
"""
CONFIG = """\
source: {type: local, path: landing}
lake: lake
tables:
  orders: {path: "*.json", record_key: order_id, ordering: updated_at}
"""


def run_python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "site")},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def run_headwater(folder: Path, *words: str) -> str:
    done = run_python(folder, "-m", "headwater.cli.main", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_folder_becomes_a_table_without_extras(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(SITE)
    assert "ModuleNotFoundError" in run_python(tmp_path, "-c", "import fastapi").stderr
    (tmp_path / "headwater.yaml").write_text(CONFIG)
    (tmp_path / "landing").mkdir()
    for name, amount in (("a", 20), ("b", 25)):
        order = {"order_id": 1, "amount": amount, "updated_at": f"2026-01-01T10:00:{amount}Z"}
        (tmp_path / f"landing/{name}.json").write_text(json.dumps(order))
    run_headwater(tmp_path, "run", "--once")
    rows = run_headwater(tmp_path, "sql", "select order_id, amount from orders", "--json")
    assert json.loads(rows.splitlines()[0]) == {"order_id": 1, "amount": 25}

"""The python of pages that change a lake is one program each, which runs in a process of its own."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PAGES = Path(__file__).parents[3] / "docs/how-to"
CONFIGURATION = """
source: {type: local, path: landing}
lake: lake
tables:
  orders: {path: "*.json", mode: merge, record_key: id, ordering: at}
"""


def read_blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", (PAGES / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)


def run_program(folder: Path, program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_use_from_python_is_a_program(tmp_path: Path) -> None:
    blocks = read_blocks("use-from-python.md")
    assert len(blocks) >= 5
    (tmp_path / "headwater.yaml").write_text(CONFIGURATION)
    (tmp_path / "landing").mkdir()
    rows = [{"id": n, "price": n * 1.5, "at": "2026-11-28T00:00:00Z"} for n in (1, 2, 100)]
    (tmp_path / "landing" / "monday.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    program = "\n".join([*blocks, "print(sorted(orders.to_arrow(['id', 'price']).to_pylist(), key=str))"])
    lines = run_program(tmp_path, program).splitlines()
    assert lines[0] == "['orders']"
    assert "3" in lines
    assert "ingested" in lines
    assert lines[-1] == "[{'id': 1, 'price': 1.5}, {'id': 2, 'price': 7.5}]"
    # The session that the program has started ends with it, and nothing is logged where output belongs.
    assert not [line for line in lines if "event" in line.lower()]


def test_forget_erases_as_its_page_shows(tmp_path: Path) -> None:
    (example,) = read_blocks("forget.md")
    (tmp_path / "headwater.yaml").write_text(CONFIGURATION)
    (tmp_path / "landing").mkdir()
    rows = [
        {"id": n, "customer": customer, "at": "2026-11-28T00:00:00Z"}
        for n, customer in enumerate(("c-17", "c-18"))
    ]
    (tmp_path / "landing" / "monday.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fill = 'import headwater as hw\nwith hw.open("headwater.yaml") as lake:\n    lake.run(once=True)\n'
    check = 'print(hw.open("headwater.yaml")["orders"].to_arrow(["customer"]).to_pylist())\n'
    lines = run_program(tmp_path, f"{fill}{example}{check}").splitlines()
    assert lines[-2].startswith("True ")
    assert "monday.json" in lines[-2]
    assert lines[-1] == "[{'customer': 'c-18'}]"

"""The python of docs/how-to/use-from-python.md is one program, which runs in a process of its own."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs/how-to/use-from-python.md"
CONFIGURATION = """
source: {type: local, path: landing}
lake: lake
tables:
  orders: {path: "*.json", mode: merge, record_key: id, ordering: at}
"""


def test_the_page_is_a_program(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 5
    (tmp_path / "headwater.yaml").write_text(CONFIGURATION)
    (tmp_path / "landing").mkdir()
    rows = [{"id": n, "price": n * 1.5, "at": "2026-11-28T00:00:00Z"} for n in (1, 2, 100)]
    (tmp_path / "landing" / "monday.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    program = "\n".join([*blocks, "print(sorted(orders.to_arrow(['id', 'price']).to_pylist(), key=str))"])
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "['orders']"
    assert "3" in lines
    assert "ingested" in lines
    assert lines[-1] == "[{'id': 1, 'price': 1.5}, {'id': 2, 'price': 7.5}]"
    # The session that the program has started ends with it, and nothing is logged where output belongs.
    assert not [line for line in lines if "event" in line.lower()]

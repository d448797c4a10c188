"""`headwater run --once` as a person sees it: no silent seconds, and no log lines in between."""

import json
import os
import pty
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fixtures.end_to_end.command import HEADWATER

pytestmark = pytest.mark.slow


def test_each_step_is_shown(tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing" / "a.json").write_text(json.dumps({"id": 1}))
    (tmp_path / "headwater.yaml").write_text(
        'source: {type: local, path: landing}\nlake: lake\ntables: {orders: {path: "*.json"}}\n'
    )
    terminal, inner = pty.openpty()
    process = subprocess.Popen(
        [str(HEADWATER), "run", "--once"], cwd=tmp_path, stdin=inner, stdout=inner, stderr=inner
    )
    os.close(inner)
    shown = b""
    with suppress(OSError):  # the end of a terminal
        while part := os.read(terminal, 65_536):
            shown += part
    os.close(terminal)
    assert process.wait(120) == 0, shown
    steps = ["starting Spark", "Spark is up", "1 events captured", "orders: 1 objects, 1 rows", "commits"]
    places = [shown.decode().find(step) for step in steps]
    assert -1 not in places, shown
    assert places == sorted(places)
    assert b"level" not in shown

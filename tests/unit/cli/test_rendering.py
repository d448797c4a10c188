import json
import math
import os
import pty
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

import pytest

from headwater.cli.rendering import render_json, render_json_lines, render_table, render_text


@dataclass(frozen=True)
class Row:
    path: Path
    at: datetime


def test_json_supports_all_result_types(capsys: pytest.CaptureFixture[str]) -> None:
    row = Row(Path("/a"), datetime(2024, 1, 1, tzinfo=timezone.utc))
    render_json({"row": row, "nan": math.nan, "decimal": Decimal("1.20"), "bytes": b"\xff", "key": "é\udc80"})
    found = json.loads(capsys.readouterr().out)
    assert found["row"] == {"path": "/a", "at": "2024-01-01T00:00:00Z"}
    assert found["nan"] is None
    assert found["decimal"] == "1.20"


def test_rows_as_json_keep_bytes_and_numbers_that_json_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    render_json_lines([{"b": b"\xff\xfe", "l": [float("nan"), 1.5, None], "o": {"x": float("-inf")}}])
    output = json.loads(capsys.readouterr().out)
    assert output == {"b": "//4=", "l": ["NaN", 1.5, None], "o": {"x": "-Infinity"}}


def test_rows_are_one_json_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    render_json_lines([{"a": 1}, {"a": "x\ny"}])
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [{"a": 1}, {"a": "x\ny"}]


def test_table_cuts_nothing_off_in_a_pipe_and_reads_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    key = "orders/[red]x" + "y" * 300
    render_table(
        ("key", "rows", "at"), [(key, 12345, datetime(2024, 1, 1, tzinfo=timezone.utc)), ("b", None, True)]
    )
    out = capsys.readouterr().out
    assert key in out
    assert "12,345" in out
    assert "2024-01-01 00:00:00Z" in out
    assert "None" not in out


def test_odd_keys_do_not_end_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    render_text("a\udc80b")
    render_table(("key",), [("a\udc80b",)])
    assert capsys.readouterr().out.count("a\\udc80b") == 2


@pytest.mark.parametrize(("rows", "is_paged"), [(8, False), (30, True)])
def test_a_table_longer_than_the_terminal_is_shown_by_the_pager(
    rows: int, is_paged: bool, tmp_path: Path
) -> None:
    paged = tmp_path / "paged"
    code = (
        "from headwater.cli.rendering import render_table\n"
        f"render_table(['n'], [[f'row {{n}}'] for n in range({rows})], is_paged=True)\n"
    )
    printed = run_in_terminal([sys.executable, "-c", code], {"PAGER": f"cat > {paged}", "LINES": "20"})
    assert paged.exists() is is_paged
    shown, other = (paged.read_text(), printed) if is_paged else (printed, "")
    assert f"row {rows - 1}" in shown
    assert "row" not in other


def run_in_terminal(command: list[str], variables: dict[str, str]) -> str:
    """Run a command whose standard streams are a terminal; return what it prints there."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", **variables}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        printed = b""
        with suppress(OSError):  # the end of a terminal that no process has open any more
            while data := os.read(ours, 4096):
                printed += data
    os.close(ours)
    assert process.returncode == 0, printed
    return printed.decode()

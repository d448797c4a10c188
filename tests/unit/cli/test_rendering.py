import json
import math
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

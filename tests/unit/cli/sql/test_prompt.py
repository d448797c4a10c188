"""The prompt of `headwater sql`: statements, completion, and a session in a terminal."""

import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from headwater.cli.sql.prompt import Words, iter_statements
from headwater.errors import TableNotFoundError
from tests.fixtures.lakes import write_config


@pytest.mark.parametrize(
    ("lines", "statements"),
    [
        (["select 1;"], ["select 1"]),
        (["select 1", "from a;", "select 2 ;"], ["select 1\nfrom a", "select 2"]),
        (["", "  ", "select 1"], ["select 1"]),
        (["\\t", "exit", "select 1;"], ["\\t"]),
        (["select 1", "\\q;"], ["select 1\n\\q"]),
        (["select wrong", None, "select 2;"], ["select 2"]),
        ([], []),
    ],
)
def test_statements_end_with_a_semicolon(lines: list[str | None], statements: list[str]) -> None:
    assert list(iter_statements(iter(lines))) == statements


def test_tables_and_the_columns_of_named_ones_are_completed() -> None:
    asked: list[str] = []

    def list_columns(table: str) -> Sequence[str]:
        asked.append(table)
        if table == "events":
            raise TableNotFoundError("no rows yet")
        return ["order_id", "price"]

    words = Words(["orders", "events"], list_columns)
    assert words.complete("or", "select or") == ["orders", "order by", "or"]
    assert words.complete("", "")[:2] == ["orders", "events"]
    assert words.complete("ORDER_", "select ORDER_ from orders") == ["order_id"]
    assert words.complete("p", "select p from orders, events") == ["price"]
    words.complete("p", "select p from orders, events")
    assert asked == ["orders", "events"]


def read_all(terminal: int) -> str:
    """What the terminal shows until its process ends."""
    found = b""
    # At the end, Linux reports an error instead of the end of the file.
    with suppress(OSError):
        while part := os.read(terminal, 65_536):
            found += part
    os.close(terminal)
    return found.decode()


def test_a_session_continues_after_an_error(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    terminal, inner = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "headwater.cli.main", "sql", "-c", str(config)],
        stdin=inner,
        stdout=inner,
        stderr=inner,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "TERM": "dumb"},
    )
    os.close(inner)
    typed = b"select nothing\nfrom orders_cow;\nselect count(*) as n\nfrom orders_cow;\n\\t\n\\q\n"
    os.write(terminal, typed)
    said = read_all(terminal)
    assert process.wait(60) == 0, said
    assert "Tables: orders_cow, orders_mor" in said
    assert "there is no column nothing" in said
    assert "read by hudi-rs+datafusion" in said
    assert "select count(*) as n" in (tmp_path / "state/headwater/sql-history").read_text()

"""An assistant's client starts `headwater mcp` on a real lake, asks, and changes it after a preview."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.fixtures.end_to_end.command import run_command

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CONFIG = """
source: {type: local, path: landing}
lake: lake
tables:
  orders: {path: "*.json", schema: "id bigint, n bigint"}
"""
_START = "from headwater.cli.main import main; main()"


def read(result: Any) -> Any:
    (content,) = result.content
    assert not result.is_error, content.text
    return json.loads(content.text)


async def ask(folder: Path) -> tuple[Any, ...]:
    options = ["-c", _START, "--config", str(folder / "headwater.yaml"), "mcp", "--allow-changes"]
    async with Client(StdioServerParameters(command=sys.executable, args=options, cwd=folder)) as client:
        status = read(await client.call_tool("status", {}))
        rows = read(await client.call_tool("query", {"sql": "select id, n from orders order by id"}))
        written = await client.call_tool("query", {"sql": "delete from orders"})
        items = read(await client.call_tool("list_quarantine", {"table": "orders"}))
        plan = read(await client.call_tool("plan_replay", {"table": "orders", "since": "1d"}))
        before = read(await client.call_tool("query", {"sql": "select count(*) as n from orders"}))
        applied = read(await client.call_tool("apply", {"token": plan["token"]}))
        again = await client.call_tool("apply", {"token": plan["token"]})
        return status, rows, written, items, plan, before, applied, again


def test_questions_and_a_change(tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing" / "a.json").write_text('{"id": 1, "n": 1}\n{"id": 2, "n": "two"}\n{"id": 3}\n')
    (tmp_path / "headwater.yaml").write_text(CONFIG)
    run_command("run", "--once", folder=tmp_path, timeout=300).expect(3)
    status, rows, written, items, plan, before, applied, again = asyncio.run(ask(tmp_path))
    assert status["tables"]["orders"]["rows"] == 2
    assert rows == {"items": [{"id": 1, "n": 1}, {"id": 3, "n": None}]}
    assert written.is_error
    assert items["items"][0]["detail"].endswith('n is "two", and its column has numbers (long)')
    assert plan["preview"] == {"table": "orders", "objects": 1, "dry_run": True}
    assert before == {"items": [{"n": 2}]}
    assert applied == {"table": "orders", "objects": 1, "dry_run": False}
    assert again.is_error

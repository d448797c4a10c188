"""The tools as an assistant's client sees them: what reads, what plans, and what applies."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp import Client

from headwater.mcp.command_line import CommandFailedError
from headwater.mcp.plans import Plans
from headwater.mcp.server import build_server

READING = {
    *("status", "query", "verify", "explain", "schema", "changes"),
    *("lineage", "doctor", "list_quarantine", "show_quarantined"),
}


class RecordingCommandLine:
    """Answers each command with a fixed document."""

    def __init__(self) -> None:
        self.commands: list[tuple[str, ...]] = []
        self.answer: Any = {"fine": True}

    def run(self, arguments: tuple[str, ...]) -> Any:
        self.commands.append(arguments)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def command_line() -> RecordingCommandLine:
    return RecordingCommandLine()


def talk(
    command_line: RecordingCommandLine,
    conversation: Callable[[Client], Awaitable[Any]],
    *,
    allows_changes: bool = True,
) -> Any:
    async def run() -> Any:
        server = build_server(command_line, Plans(lambda: 0.0), allows_changes=allows_changes)
        async with Client(server) as client:
            return await conversation(client)

    return asyncio.run(run())


def read(result: Any) -> Any:
    (content,) = result.content
    return content.text if result.is_error else json.loads(content.text)


def test_without_changes_every_tool_reads(command_line: RecordingCommandLine) -> None:
    found = talk(command_line, lambda client: client.list_tools(), allows_changes=False)
    assert {tool.name for tool in found.tools} == READING
    assert all(tool.annotations.read_only_hint for tool in found.tools)
    assert all(tool.description for tool in found.tools)


def test_with_changes_only_apply_changes(command_line: RecordingCommandLine) -> None:
    found = talk(command_line, lambda client: client.list_tools())
    planning = {"plan_retry", "plan_replay", "plan_reconcile", "plan_forget"}
    assert {tool.name for tool in found.tools} == READING | planning | {"apply"}
    assert [tool.name for tool in found.tools if not tool.annotations.read_only_hint] == ["apply"]


def test_a_question_runs_its_command(command_line: RecordingCommandLine) -> None:
    command_line.answer = [{"n": 1}, {"n": 2}]
    answer = talk(command_line, lambda client: client.call_tool("query", {"sql": "select n from t"}))
    assert read(answer) == {"items": [{"n": 1}, {"n": 2}]}
    assert command_line.commands == [("sql", "--json", "--limit=100", "--", "select n from t")]
    command_line.answer = {"n": 1}
    one = talk(command_line, lambda client: client.call_tool("query", {"sql": "select n from t limit 1"}))
    assert read(one) == {"items": [{"n": 1}]}


def test_a_failed_command_is_an_answer_with_message_and_hint(command_line: RecordingCommandLine) -> None:
    command_line.answer = CommandFailedError("no such table", hint="one of a, b")
    result = talk(command_line, lambda client: client.call_tool("schema", {"table": "x"}))
    assert result.is_error
    assert "no such table" in read(result)
    assert "one of a, b" in read(result)


def test_a_change_is_applied_once_and_only_after_its_preview(command_line: RecordingCommandLine) -> None:
    async def change(client: Client) -> tuple[Any, ...]:
        refused = await client.call_tool("apply", {"token": "guess"})
        planned = read(await client.call_tool("plan_forget", {"table": "orders", "keys": ["c-17"]}))
        applied = await client.call_tool("apply", {"token": planned["token"]})
        return refused, planned, applied, await client.call_tool("apply", {"token": planned["token"]})

    refused, planned, applied, again = talk(command_line, change)
    assert refused.is_error
    assert (planned["preview"], planned["changed"]) == ({"fine": True}, False)
    assert read(applied) == {"fine": True}
    assert "used" in read(again)
    preview, command = command_line.commands
    assert preview == ("forget", "--json", "--key=c-17", "--", "orders")
    assert command == ("forget", "--json", "--key=c-17", "--yes", "--", "orders")


def test_a_failed_preview_gives_no_token(command_line: RecordingCommandLine) -> None:
    command_line.answer = CommandFailedError("no such table")
    result = talk(command_line, lambda client: client.call_tool("plan_replay", {"table": "x", "since": "7d"}))
    assert result.is_error
    assert "token" not in read(result)

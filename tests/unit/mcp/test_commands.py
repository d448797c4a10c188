"""What an assistant asks for, as commands: no value becomes an option."""

import pytest

from headwater.mcp import commands


def test_reading_commands_end_with_the_asked_value() -> None:
    assert commands.query("select 1", 10) == ("sql", "--json", "--limit=10", "--", "select 1")
    assert commands.explain("--help") == ("explain", "--json", "--", "--help")
    assert commands.verify(["--repair"]) == ("verify", "--json", "--table=--repair")
    assert commands.schema("orders") == ("schema", "--json", "--", "orders")
    assert commands.show_quarantined("-v") == ("quarantine", "show", "--json", "--", "-v")


@pytest.mark.parametrize(("limit", "rows"), [(0, 1), (-5, 1), (500, 500), (10**9, 500)])
def test_rows_are_limited(limit: int, rows: int) -> None:
    assert f"--limit={rows}" in commands.query("select 1", limit)


def test_empty_values_restrict_nothing() -> None:
    assert commands.list_quarantine("", "", "") == ("quarantine", "list", "--json")
    assert commands.list_quarantine("t", "", "2h") == (
        "quarantine",
        "list",
        "--json",
        "--table=t",
        "--since=2h",
    )
    assert commands.changes("t", "1h", "")[2:] == ("--since=1h", "--", "t")


def test_a_preview_never_changes_anything() -> None:
    replay = commands.replay("t", "7d")
    assert set(replay.preview) - set(replay.command) == {"--dry-run"}
    assert set(commands.reconcile().preview) - set(commands.reconcile().command) == {"--dry-run"}
    forget = commands.forget("t", ["1", "2"], [])
    assert set(forget.command) - set(forget.preview) == {"--yes"}
    assert forget.preview == ("forget", "--json", "--key=1", "--key=2", "--", "t")
    assert commands.retry("t", "", "").preview == commands.list_quarantine("t", "", "")
    assert commands.retry("t", "", "").command == ("quarantine", "retry", "--json", "--table=t")

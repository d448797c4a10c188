"""A table with `cdc:`, by commands alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.end_to_end.command import run_command


class Place:
    """A folder of files and the two tables that follow it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "landing").mkdir()
        settings = {
            "source": {"type": "local", "path": str(folder / "landing")},
            "lake": str(folder / "lake"),
            "tables": {
                "logged": {"path": "*.json", "record_key": "id", "cdc": "data_before_after"},
                "plain": {"path": "*.json", "record_key": "id"},
            },
        }
        (folder / "headwater.yaml").write_text(json.dumps(settings))

    def put(self, key: str, *rows: dict[str, object]) -> None:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self.folder / "landing" / key).write_text(text)
        run_command("run", "--once", folder=self.folder, timeout=240).expect(0)

    def ask(self, *words: str) -> list[dict[str, Any]]:
        done = run_command(*words, "--json", folder=self.folder, timeout=240).expect(0)
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.long
def test_log_is_read_by_commands_and_only_of_a_table_that_keeps_one(place: Place) -> None:
    place.put("1.json", {"id": "a", "text": "one"}, {"id": "b", "text": "one"})
    place.put("2.json", {"id": "a", "text": "two"})
    output = place.ask("changes", "logged", "--since", "earliest", "--cdc")
    shown = [
        (row["op"], row["key"], (row["before"] or {}).get("text"), (row["after"] or {}).get("text"))
        for row in output
    ]
    assert sorted(shown[:2]) == [("i", "a", None, "one"), ("i", "b", None, "one")]
    assert shown[2:] == [("u", "a", "one", "two")]
    assert place.ask("changes", "logged", "--since", output[-1]["completed"], "--cdc") == []
    asked = "select op, before from logged where op = 'u'"
    (update,) = place.ask("sql", asked, "--changes-since", output[0]["completed"], "--cdc")
    assert json.loads(update["before"])["text"] == "one"
    refused = run_command(
        "sql", "select * from plain", "--changes-since", "earliest", "--cdc", folder=place.folder
    ).expect(2)
    assert "the table has no change log" in refused.stderr

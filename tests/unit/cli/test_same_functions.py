"""A command and the method of the Python API for the same task call the same function.

A new command or method needs an entry here: the function that both call, or why there is only one of them.
"""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer

import headwater
from headwater.api.lake import Lake
from headwater.api.quarantine import Quarantine
from headwater.api.table import Table
from headwater.cli.main import app

CLI = Path(headwater.__file__).parent / "cli"

SHARED: Mapping[str, tuple[Any, str]] = {
    "run": (Lake.run, "RunProcess"),
    "sql": (Lake.sql, "run_sql"),
    "status": (Lake.status, "StatusReader"),
    "verify": (Lake.verify, "Verify"),
    "rehearse": (Lake.rehearse, "Rehearsal"),
    "explain": (Lake.explain, "Explain"),
    "changes": (Table.changes, "ChangeFeed"),
    "forget": (Table.forget, "build_erasures"),
    "table NAME commits": (Table.history, "inspection.list_commits"),
    "table NAME compact": (Table.compact, "compaction.compact"),
    "table NAME cluster": (Table.cluster, "clustering.cluster"),
    "table NAME clean": (Table.clean, "cleaning.clean"),
    "table NAME delete": (Table.delete, "deletion.delete_rows"),
    "quarantine list": (Quarantine.list, "list_rows"),
    "quarantine show": (Quarantine.__getitem__, "load_row"),
    "quarantine retry": (Quarantine.retry, "Redrive"),
    "quarantine drop": (Quarantine.drop, "Redrive"),
}
"""By command: the method, and what both of them call."""

OPERATION = "an operator decides it, with its plan on the screen"
MACHINE = "it prepares a machine or writes a file, before there is a lake to open"
SERVER = "a process of its own"
PEEK = "for eyes: the same facts are in `status`, `history` and the tables"

ONLY_COMMANDS: Mapping[str, str] = {
    **dict.fromkeys(("demo", "init", "doctor", "prepare", "alerts"), MACHINE),
    **dict.fromkeys(("config", "config check", "config schema", "config import"), MACHINE),
    **dict.fromkeys(
        ("plan", "up", "down", "routing", "replay", "skip-to", "reconcile", "clean-source"), OPERATION
    ),
    **dict.fromkeys(("adopt", "backup", "restore", "services run"), OPERATION),
    **dict.fromkeys(
        (
            f"table NAME {name}"
            for name in ("archive", "savepoint", "savepoints", "restore", "rollback", "expire")
        ),
        OPERATION,
    ),
    **dict.fromkeys(
        (f"table NAME {name}" for name in ("bootstrap", "upgrade", "downgrade", "sync")), OPERATION
    ),
    **dict.fromkeys(
        (f"table NAME index {name}" for name in ("create", "drop", "rebuild", "repair")), OPERATION
    ),
    **dict.fromkeys((f"table NAME metadata {name}" for name in ("validate", "rebuild")), OPERATION),
    **dict.fromkeys((f"index {name}" for name in ("build", "sync", "status", "rollback", "eval")), OPERATION),
    **dict.fromkeys(("serve", "mcp", "spark"), SERVER),
    **dict.fromkeys(
        (
            f"table NAME {name}"
            for name in ("describe", "timeline", "commit", "files", "partitions", "size", "check", "advise")
        ),
        PEEK,
    ),
    **dict.fromkeys(("table NAME index", "table NAME index show", "table NAME metadata"), PEEK),
    **dict.fromkeys(("lineage", "transform", "schema"), PEEK),
    **dict.fromkeys(("table NAME", "services", "quarantine", "index"), "a group of commands"),
}

ROWS = "rows as an object of Python"
ONLY_METHODS: Mapping[str, str] = {
    **dict.fromkeys((f"Table.to_{kind}" for kind in ("arrow", "pandas", "polars", "spark")), ROWS),
    **dict.fromkeys(
        ("Table.as_of", "Table.count", "Table.sql", "Table.verify", "Table.explain"),
        "`sql`, `verify` and `explain` of one table",
    ),
    **dict.fromkeys(("Table.upsert", "Table.insert", "Table.overwrite"), "a command has no frame to write"),
    **dict.fromkeys(("Lake.search", "Lake.recommend"), "`serve` answers them by HTTP"),
    **dict.fromkeys(("Lake.of", "Lake.close"), "an object has a life, a command ends"),
}


def list_commands() -> list[str]:
    """The words of all commands and groups, without `headwater`."""
    return [words for words, _ in iter_callbacks()]


def iter_callbacks() -> Iterator[tuple[str, Any]]:
    root: Any = typer.main.get_group(app)
    context = typer.Context(root)

    def descend(words: list[str], command: Any) -> Iterator[tuple[str, Any]]:
        if words:
            yield " ".join(words), command.callback
        for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
            inner = [*words, *(["NAME"] if words == ["table"] else []), name]
            yield from descend(inner, command.get_command(context, name))

    for words, callback in descend([], root):
        yield ("table NAME" if words == "table" else words), callback


def list_calls(source: str) -> set[str]:
    """The functions and methods that source code calls, as `name`, `a.name` and the last part of it."""
    called = [ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return {*called, *(name.rsplit(".", 1)[-1] for name in called)}


@pytest.mark.parametrize("words", SHARED)
def test_command_and_method_call_the_same_function(words: str) -> None:
    method, function = SHARED[words]
    callback = inspect.unwrap(dict(iter_callbacks())[words])
    assert function in list_calls(textwrap.dedent(inspect.getsource(method)))
    assert function in list_calls(Path(inspect.getfile(callback)).read_text())


def test_each_command_has_a_method_or_a_reason() -> None:
    assert sorted(list_commands()) == sorted([*SHARED, *ONLY_COMMANDS])


def test_each_method_has_a_command_or_a_reason() -> None:
    methods = {
        f"{owner.__name__}.{name}"
        for owner in (Lake, Table, Quarantine)
        for name, found in inspect.getmembers(owner, callable)
        if not name.startswith("_")
    }
    shared = {method.__qualname__ for method, _ in SHARED.values() if not method.__name__.startswith("_")}
    assert methods == {*shared, *ONLY_METHODS}


def test_commands_leave_spark_stores_and_queues_to_the_layers_below() -> None:
    allowed = {"headwater", "typer", "rich", "pydantic_core", "ruamel", "sqlglot", "pyarrow"}
    found = set()
    for path in CLI.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add((node.module or "").split(".")[0])
    assert found - sys.stdlib_module_names - {"__future__"} <= allowed

"""Completion of names and keys in a shell. Reads the configuration's text only: no Spark, no network."""

from collections.abc import Callable
from pathlib import Path

import typer

from headwater.cli.invocation import Invocation

_OWN_TABLES = ("events", "quarantine", "ledger")
_MOST_KEYS = 100


def complete_table(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a configured table."""
    from headwater.config.completion import list_table_names

    return _filter(lambda: list_table_names(_find_path(ctx), _find_lake(ctx)), incomplete)


def complete_any_table(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a configured table or one of headwater's own."""
    return [*complete_table(ctx, incomplete), *_filter(lambda: list(_OWN_TABLES), incomplete)]


def complete_source(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of one of several sources."""
    from headwater.config.completion import list_source_names

    return _filter(lambda: list_source_names(_find_path(ctx)), incomplete)


def complete_lake(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of one of several lakes."""
    from headwater.config.completion import list_lake_names

    return _filter(lambda: list_lake_names(_find_path(ctx)), incomplete)


def complete_assignment(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the key of `KEY=VALUE`; of very many keys, the sections."""
    from headwater.config.completion import list_setting_keys

    found = _filter(lambda: list_setting_keys(_find_path(ctx), _find_lake(ctx)), incomplete)
    if len(found) <= _MOST_KEYS:
        return [f"{key}=" for key in found]
    start = len(incomplete)
    parts = (key[start:].partition(".") for key in found)
    return list(dict.fromkeys(f"{incomplete}{part}{dot or '='}" for part, dot, _ in parts))


def _filter(read: Callable[[], list[str]], incomplete: str) -> list[str]:
    return [word for word in read() if word.startswith(incomplete)]


def _find_path(ctx: typer.Context) -> Path | None:
    """Return the configuration file that the command line names, before or after the command."""
    given = ctx.find_root().params.get("config_file")
    after = ctx.find_object(Invocation)
    return after.config_path if after else given


def _find_lake(ctx: typer.Context) -> str:
    after = ctx.find_object(Invocation)
    return (after.lake_name if after else "") or ctx.find_root().params.get("lake_name") or ""

"""The commands that answer an assistant's calls, as arguments of the command line. Pure.

Values come from a language model: each follows its option's name and `=`, or `--`, so that none becomes an
option.
"""

from collections.abc import Sequence
from dataclasses import dataclass

Arguments = tuple[str, ...]

MOST_ROWS = 500


@dataclass(frozen=True, slots=True)
class Change:
    """A change to a lake: the command that shows what it would do, and the one that does it."""

    preview: Arguments
    command: Arguments


def query(sql: str, limit: int) -> Arguments:
    """Return the command of a query. `limit`: rows, at most `MOST_ROWS`."""
    return ("sql", "--json", f"--limit={max(1, min(limit, MOST_ROWS))}", "--", sql)


def verify(tables: Sequence[str]) -> Arguments:
    """Return the command that compares tables with their objects; without names, all."""
    return ("verify", "--json", *_repeat("--table", tables))


def explain(uri: str) -> Arguments:
    """Return the command that shows what happened to an object."""
    return ("explain", "--json", "--", uri)


def schema(table: str) -> Arguments:
    """Return the command that shows a table's columns and their history."""
    return ("schema", "--json", "--", table)


def changes(table: str, since: str, until: str) -> Arguments:
    """Return the command that lists changed rows of a table; an empty `until` is now."""
    return ("changes", "--json", *_give(since=since, until=until), "--", table)


def list_quarantine(table: str, reason: str, since: str) -> Arguments:
    """Return the command that lists items in quarantine; an empty value restricts nothing."""
    return ("quarantine", "list", "--json", *_give(table=table, reason=reason, since=since))


def show_quarantined(item: str) -> Arguments:
    """Return the command that shows an item in quarantine with its payload."""
    return ("quarantine", "show", "--json", "--", item)


def retry(table: str, reason: str, since: str) -> Change:
    """Return the change that retries items in quarantine; its preview lists them."""
    chosen = _give(table=table, reason=reason, since=since)
    return Change(list_quarantine(table, reason, since), ("quarantine", "retry", "--json", *chosen))


def replay(table: str, since: str) -> Change:
    """Return the change that ingests a table's objects again; its preview counts them."""
    asked = ("replay", "--json", *_give(table=table, since=since))
    return Change((*asked, "--dry-run"), asked)


def reconcile() -> Change:
    """Return the change that adds events for differences; its preview counts them."""
    return Change(("reconcile", "--json", "--dry-run"), ("reconcile", "--json"))


def forget(table: str, keys: Sequence[str], by: Sequence[str]) -> Change:
    """Return the change that erases the rows of keys; its preview finds them."""
    asked = ("forget", "--json", *_repeat("--key", keys), *_repeat("--by", by))
    return Change((*asked, "--", table), (*asked, "--yes", "--", table))


def _give(**values: str) -> Arguments:
    return tuple(f"--{name}={value}" for name, value in values.items() if value)


def _repeat(option: str, values: Sequence[str]) -> Arguments:
    return tuple(f"{option}={value}" for value in values)

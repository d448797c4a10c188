"""The result of a rehearsal, as `--json` prints it, and as lines of text."""

from collections.abc import Iterator
from dataclasses import dataclass

from headwater.app.rehearsal.changes import FileChanges, KeyChange, TableState
from headwater.app.rehearsal.steps import Application
from headwater.ingest.rehearsal.differences import (
    QuarantineDifferences,
    RejectedCount,
    RowDifferences,
    SchemaDifferences,
)

_MOST_CHARS = 200


@dataclass(frozen=True, slots=True)
class TableRehearsal:
    """One table. A `failure` is the error with which the table would stop in a run, with either file."""

    state: TableState
    keys: tuple[KeyChange, ...]
    objects: int
    failure_now: str
    failure_new: str
    schema: SchemaDifferences
    rows: RowDifferences
    quarantine: QuarantineDifferences
    application: Application

    @property
    def has_differences(self) -> bool:
        """True if rows, columns or quarantine differ, or could not be compared because of a failure."""
        is_same = self.schema.is_empty and self.rows.is_empty and self.quarantine.is_empty
        return self.has_failed or not is_same

    @property
    def has_failed(self) -> bool:
        """True if a run would stop with one of the files, so that nothing was compared."""
        return bool(self.failure_now or self.failure_new)


@dataclass(frozen=True, slots=True)
class RehearsalReport:
    """All tables of a rehearsal. `events` were copied; `has_differences` decides the exit code."""

    window: str
    events: int
    tables: dict[str, TableRehearsal]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    other_keys: tuple[str, ...]

    @property
    def has_differences(self) -> bool:
        """True if a table has differences."""
        return any(table.has_differences for table in self.tables.values())


def build_report(
    changes: FileChanges, window: str, events: int, tables: dict[str, TableRehearsal]
) -> RehearsalReport:
    """Return the report of the tables that were compared."""
    return RehearsalReport(
        window=window,
        events=events,
        tables=tables,
        unchanged=tuple(
            one.table for one in changes.tables if one.state == "same" and one.table not in tables
        ),
        removed=tuple(one.table for one in changes.tables if one.state == "removed"),
        other_keys=changes.other_keys,
    )


def to_document(report: RehearsalReport) -> dict[str, object]:
    """Return the report for JSON; fields are added, never renamed."""
    return {
        "differences": report.has_differences,
        "window": report.window,
        "events": report.events,
        "tables": {
            name: {"differences": table.has_differences, **_to_fields(table)}
            for name, table in report.tables.items()
        },
        "unchanged": report.unchanged,
        "removed": report.removed,
        "other_keys": report.other_keys,
    }


def _to_fields(table: TableRehearsal) -> dict[str, object]:
    return {name: getattr(table, name) for name in TableRehearsal.__slots__}


def iter_lines(report: RehearsalReport) -> Iterator[str]:
    """Yield the report as lines of text."""
    yield f"{report.window}: {report.events:,} events"
    for name, table in report.tables.items():
        yield ""
        yield from _iter_table(name, table)
    yield ""
    if report.unchanged:
        yield f"unchanged, not compared: {', '.join(report.unchanged)}"
    for name in report.removed:
        yield f"table {name} is not in the new file; its folder stays"
    if report.other_keys:
        yield f"changed outside of tables, not rehearsed: {', '.join(report.other_keys)}"
    yield "there are differences" if report.has_differences else "no difference"


def _iter_table(name: str, table: TableRehearsal) -> Iterator[str]:
    yield f"table {name}: {table.objects:,} objects" + (
        ", new in this file" if table.state == "added" else ""
    )
    for key in table.keys:
        yield f"  {key.key}: {_shorten(key.now)} -> {_shorten(key.new)}"
    for file, failure in (("current", table.failure_now), ("new", table.failure_new)):
        if failure:
            yield f"  with the {file} file, a run stops: {failure}"
    if table.has_failed:
        yield "  not compared"
        return
    yield from _iter_schema(table.schema)
    yield from _iter_rows(table.rows)
    yield from _iter_quarantine(table.quarantine)
    yield from _iter_application(table.application)


def _iter_schema(schema: SchemaDifferences) -> Iterator[str]:
    for sign, columns in (("+", schema.added), ("-", schema.removed)):
        yield from (f"  column {sign} {column}" for column in columns)
    for change in schema.changed:
        yield f"  column {change.column}: {change.now} -> {change.new}"


def _iter_rows(rows: RowDifferences) -> Iterator[str]:
    by = ", ".join(rows.key) if rows.matched_by == "key" else "object and record"
    yield (
        f"  rows by {by}: {rows.equal:,} equal, {rows.changed:,} changed, "
        f"{rows.only_now:,} only with the current file, {rows.only_new:,} only with the new file"
    )
    for column in rows.columns:
        yield f"    {column.column}: {column.rows:,} rows"
        for example in column.examples:
            yield f"      {example.row}: {_show(example.now)} -> {_show(example.new)}"
    yield from (f"    - {row}" for row in rows.only_now_examples)
    yield from (f"    + {row}" for row in rows.only_new_examples)
    if rows.undecided:
        yield f"    {rows.undecided:,} more are not compared: objects outside the window decide them"
    if rows.unstable:
        yield f"    rows of {rows.unstable:,} objects are not compared: overwritten during the rehearsal"


def _iter_quarantine(quarantine: QuarantineDifferences) -> Iterator[str]:
    for sign, counts in (("-", quarantine.only_now), ("+", quarantine.only_new)):
        for found in counts:
            yield from _iter_rejected(sign, found)


def _iter_rejected(sign: str, found: RejectedCount) -> Iterator[str]:
    yield f"  quarantine {sign} {found.count:,} {found.level}s: {found.reason}"
    for example in found.examples:
        line = f", line {example.line}" if example.line is not None else ""
        yield f"      {example.object}{line}: {example.detail}"


def _iter_application(application: Application) -> Iterator[str]:
    if application.cost != "nothing":
        yield f"  costs: {application.cost.replace('_', ' ')}"
    yield from (f"    {reason}" for reason in application.reasons)


def list_commands(report: RehearsalReport) -> list[str]:
    """Return the commands that apply the new file after it replaced the current one, each once."""
    compared = [table for table in report.tables.values() if not table.has_failed]
    found = [command for table in compared for command in table.application.commands]
    return sorted(dict.fromkeys(found), key=lambda command: command.startswith("headwater"))


def _show(value: str | None) -> str:
    return "null" if value is None else value


def _shorten(value: object) -> str:
    text = "not set" if value is None else str(value)
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}..."

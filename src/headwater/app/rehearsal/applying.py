"""Applies a rehearsed file: puts it in place of the current one, and re-ingests what it changes."""

from datetime import datetime, timezone
from pathlib import Path

from headwater.app.application import App
from headwater.app.objects.redrive import drain
from headwater.app.objects.routing import Routing
from headwater.app.rehearsal.replacing import NewFile, replace_file
from headwater.app.rehearsal.report import RehearsalReport
from headwater.errors import UsageError

_ALL = datetime(1970, 1, 1, tzinfo=timezone.utc)


def check_applicable(report: RehearsalReport) -> None:
    """Raise `UsageError` if a table has to be rebuilt, or would stop: a run would reject the new file."""
    for name, table in report.tables.items():
        if table.failure_new:
            raise UsageError(
                f"not applied: with the new file, table {name} stops", hint="correct the new file, and repeat"
            )
        if table.application.cost == "rebuild":
            raise UsageError(
                f"not applied: table {name} has to be rebuilt, which deletes its rows first",
                hint="follow the steps of the report; or keep the table, and add one with another name",
            )


def apply_file(app: App, report: RehearsalReport, current: Path, new: NewFile) -> Path:
    """Replace the current file, then bring the tables to what it says; return where the previous text is.

    `app` has the new settings; call it inside `hold_for_command`. An interrupted call leaves the new file in
    place: repeat its commands. Raises `HeadwaterError`.
    """
    check_applicable(report)
    routing = Routing(app)
    changed = [name for name, table in report.tables.items() if table.application.selects]
    try:
        routing.check(changed)
    except UsageError as error:
        raise UsageError(
            f"not applied: {error.message}",
            hint="correct its path and filters; or replace the file, then `headwater routing --apply --yes`",
        ) from error
    backup = replace_file(current, new)
    if changed:
        routing.apply(changed)
    for name, table in report.tables.items():
        if table.application.cost == "replay":
            routing.replay(name, _ALL)
    for name in app.settings.derived_tables:
        if name in report.tables:
            drain(app.build_derived_pipeline(name))
    return backup

"""What `doctor` says of Iceberg views."""

from collections.abc import Iterator
from datetime import datetime

from headwater.app.iceberg.status import list_abandoned, open_store, read_status
from headwater.config.settings import Settings
from headwater.errors import HeadwaterError, TableNotFoundError
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import find_address
from headwater.sources.finding import SetupFinding


def iter_iceberg_findings(settings: Settings, now: datetime) -> Iterator[SetupFinding]:
    """Yield one finding per view. A view that is behind is a warning: rows of the table are complete."""
    yield from _iter_abandoned(settings)
    for name in (name for name, table in settings.tables.items() if table.iceberg):
        try:
            yield _check(settings, name, now)
        except TableNotFoundError:
            yield SetupFinding(f"iceberg.{name}", "ok", "the table has no commit yet")
        except HeadwaterError as error:
            yield SetupFinding(f"iceberg.{name}", "warning", error.message, error.hint)


def _iter_abandoned(settings: Settings) -> Iterator[SetupFinding]:
    try:
        names = list_abandoned(settings)
    except HeadwaterError:
        return  # the check of the lake reports it
    for name in names:
        address = open_store(settings, name).url
        text = f"{address} is an Iceberg view that is no longer updated: the table has no `iceberg: true`"
        yield SetupFinding(f"iceberg.{name}", "warning", text, "delete the folder")


def _check(settings: Settings, name: str, now: datetime) -> SetupFinding:
    timeline = TableTimeline(find_address(settings, name))
    found = read_status(settings, name, timeline.commits, now)
    if found.error:
        return SetupFinding(f"iceberg.{name}", "warning", found.error, found.hint)
    if found.lag_commits:
        text = (
            f"the Iceberg view is {found.lag_commits:,} commits behind, by {found.lag_seconds:,.0f} seconds"
        )
        config = settings.tables[name]
        command = f"table {name} compact" if config.table_type == "merge_on_read" else "run"
        return SetupFinding(f"iceberg.{name}", "warning", text, f"`headwater {command}` brings it up to date")
    return SetupFinding(f"iceberg.{name}", "ok", f"{found.address} shows the newest commit")

"""The objects that a configured table reads, and their location."""

from collections.abc import Sequence
from dataclasses import replace

from headwater.capture.captured_event import CapturedEvent
from headwater.config.settings import Settings
from headwater.config.table import TableConfig
from headwater.errors import UsageError
from headwater.ingest.planning.plan import Scope
from headwater.ingest.planning.selection import build_selector, find_beginnings
from headwater.ingest.planning.window import build_window
from headwater.ingest.sets.names import SetNames, build_set_names


def source_provider(settings: Settings) -> str:
    """Return the provider that events of the source name."""
    return settings.source.type


def source_bucket(settings: Settings) -> str:
    """Return the bucket that events of the source name in the lake; for a folder, the folder.

    Moved objects (`source.moved_from`) keep their original bucket.
    """
    return settings.source.known_location


def source_location(settings: Settings) -> str:
    """Return the bucket or folder in which the objects are now."""
    return settings.source.location


def rename_moved(settings: Settings, batch: Sequence[CapturedEvent]) -> Sequence[CapturedEvent]:
    """Rename the bucket in events to its name in the lake: notifications name the current bucket."""
    known_as, location = source_bucket(settings), source_location(settings)
    if known_as == location:
        return batch
    return [
        replace(captured, event=replace(captured.event, bucket=known_as))
        if captured.event.bucket == location
        else captured
        for captured in batch
    ]


def build_scope(settings: Settings, name: str) -> Scope:
    """Return bucket, prefix and rules of one table. Raises `UsageError` for a name that is not configured, or
    not of a table built from objects."""
    table = settings.tables.get(name)
    if table is None:
        raise UsageError(f"no table {name!r}", hint=f"configured tables: {', '.join(settings.tables)}")
    if table.from_ is not None:
        raise UsageError(
            f"table {name!r} is built from table {' and '.join(map(repr, table.sources))}, not from objects",
            hint=f"tables built from objects: {', '.join(settings.object_tables)}",
        )
    scope = _build_path_scope(settings, table)
    sets = build_sets(settings, name)
    return scope if sets is None else sets.widen(scope)


def build_sets(settings: Settings, name: str) -> SetNames | None:
    """Return the names of a table's sets; None for a table without them."""
    table = settings.tables[name]
    if table.complete_when is None:
        return None
    return build_set_names(table.path, table.complete_when, _build_path_scope(settings, table))


def _build_path_scope(settings: Settings, table: TableConfig) -> Scope:
    bucket, prefix = source_bucket(settings), settings.source.prefix
    return Scope(bucket, prefix, build_selector(table), find_beginnings(table.path), build_window(table))

"""The objects that a configured table reads, and their location."""

from collections.abc import Sequence
from dataclasses import replace

from headwater.capture.captured_event import CapturedEvent
from headwater.config.settings import Settings
from headwater.config.source import SourceConfig
from headwater.errors import UsageError
from headwater.ingest.planning.plan import Location, Scope
from headwater.ingest.planning.selection import build_selector, find_beginnings
from headwater.ingest.planning.window import build_window
from headwater.ingest.sets.names import SetNames, build_set_names


def locate(source: SourceConfig) -> Location:
    """Return where a source has its objects, by the name that its bucket or folder has in the lake."""
    return Location(source.type, source.known_location, source.prefix)


def list_buckets(settings: Settings) -> dict[str, str]:
    """Return the buckets and folders of all sources, by their name in the lake, with their provider."""
    return {source.known_location: source.type for source in settings.sources}


def label_source(settings: Settings, source: SourceConfig) -> str:
    """Return how output names a source: empty if there is only one."""
    return str(source.name) if len(settings.sources) > 1 else ""


def choose_sources(settings: Settings, only: str) -> tuple[SourceConfig, ...]:
    """Return the sources with different objects, or the one of that name. Raises `UsageError`."""
    if not only:
        return settings.listed_sources
    known = {str(source.name): source for source in settings.sources if source.name}
    if only not in known:
        allowed = ", ".join(known) or "none; the only source has no `name`"
        raise UsageError(f"no source {only!r}", hint=f"configured sources: {allowed}")
    return (known[only],)


def group_by_queue(sources: Sequence[SourceConfig]) -> list[list[SourceConfig]]:
    """Return the sources in groups with the same queue."""
    groups: dict[tuple[str, str], list[SourceConfig]] = {}
    for at, source in enumerate(sources):
        key = (source.type, source.shared_queue) if source.shared_queue else ("", str(at))
        groups.setdefault(key, []).append(source)
    return list(groups.values())


def rename_moved(settings: Settings, batch: Sequence[CapturedEvent]) -> Sequence[CapturedEvent]:
    """Rename buckets in events to their names in the lake: notifications name the current bucket."""
    moved = {
        source.location: source.known_location
        for source in settings.sources
        if source.location != source.known_location
    }
    if not moved:
        return batch
    return [
        replace(captured, event=replace(captured.event, bucket=moved[captured.event.bucket]))
        if captured.event.bucket in moved
        else captured
        for captured in batch
    ]


def build_scope(settings: Settings, name: str) -> Scope:
    """Return locations and rules of one table. Raises `UsageError` for a name that is not configured, or
    not of a table built from objects."""
    table = settings.tables.get(name)
    if table is None:
        raise UsageError(f"no table {name!r}", hint=f"configured tables: {', '.join(settings.tables)}")
    if table.from_ is not None:
        raise UsageError(
            f"table {name!r} is built from table {' and '.join(map(repr, table.sources))}, not from objects",
            hint=f"tables built from objects: {', '.join(settings.object_tables)}",
        )
    scope = _build_path_scope(settings, name)
    sets = build_sets(settings, name)
    return scope if sets is None else sets.widen(scope)


def build_sets(settings: Settings, name: str) -> SetNames | None:
    """Return the names of a table's sets; None for a table without them."""
    table = settings.tables[name]
    if table.complete_when is None:
        return None
    return build_set_names(table.path, table.complete_when, _build_path_scope(settings, name))


def _build_path_scope(settings: Settings, name: str) -> Scope:
    table = settings.tables[name]
    locations = tuple(map(locate, settings.list_sources_of(name)))
    own = {location.bucket for location in locations}
    return Scope(
        locations,
        build_selector(table),
        find_beginnings(table.path),
        build_window(table),
        frozenset(list_buckets(settings).keys() - own),
    )

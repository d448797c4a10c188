"""A table's columns: their current types, their history, and what given objects would change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from headwater.app.application import App
from headwater.app.scope import build_scope
from headwater.capture.position import parse_instant
from headwater.config.settings import Settings
from headwater.config.source import LocalSourceConfig
from headwater.errors import UsageError
from headwater.ingest.changes.rules import ChangeRules
from headwater.ingest.columns.column_names import list_renamed, rename_for_hudi
from headwater.ingest.committed_state import CommittedState, parse_committed_state
from headwater.ingest.evolution.preview import ObjectPreview, SchemaPreview
from headwater.ingest.evolution.schema_history import SchemaVersion, name_commit
from headwater.lake.layout import table_path
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.sources.local.source import LocalSource
from headwater.sources.object_store import ObjectRef, ObjectStoreConfig


@dataclass(frozen=True, slots=True)
class TableColumn:
    """`type` is the SQL type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class RenamedField:
    """A field whose name is invalid in a table. Both names are dotted paths, in the objects and in the
    table."""

    field: str
    column: str


@dataclass(frozen=True, slots=True)
class SchemaReport:
    """`headwater schema NAME`. `columns` are the data columns, by their names in the table; `renamed` are
    those with other names in the objects.

    `versions` are oldest first; empty before the table's first commit.
    """

    table: str
    schema_evolution_mode: str
    rescued_data_column: str | None
    columns: tuple[TableColumn, ...]
    renamed: tuple[RenamedField, ...]
    versions: tuple[SchemaVersion, ...]


def read_schema_report(settings: Settings, storage_options: Mapping[str, str], name: str) -> SchemaReport:
    """Read the report without a JVM. Raises `UsageError` for an unknown table and `LakeError`."""
    build_scope(settings, name)
    state = read_state(settings, storage_options, name)
    config = settings.tables[name]
    columns = rename_for_hudi(state.schema) if state.schema is not None else ()
    renamed = list_renamed(state.schema) if state.schema is not None else ()
    return SchemaReport(
        table=name,
        schema_evolution_mode=config.effective_schema_evolution_mode,
        rescued_data_column=config.effective_rescued_data_column or state.rescued_column,
        columns=tuple(TableColumn(field.name, field.dataType.simpleString()) for field in columns),
        renamed=tuple(RenamedField(*names) for names in renamed),
        versions=tuple(map(_with_time, state.history)),
    )


def read_state(settings: Settings, storage_options: Mapping[str, str], name: str) -> CommittedState:
    """Return the state in the table's newest headwater commit; the initial state for no table."""
    reader = SnapshotReader(table_path(settings.lake, name), storage_options)
    if not reader.exists():
        return CommittedState()
    # Usually the newest commit is a headwater commit; each one checked costs a read.
    for newest in (1, 10, None):
        for commit in reversed(reader.list_commits(newest)):
            metadata = commit.own_metadata
            if "checkpoint" in metadata:
                state = parse_committed_state(metadata)
                return replace(state, history=name_commit(state.history, commit.requested))
    return CommittedState()


def _with_time(version: SchemaVersion) -> SchemaVersion:
    time: datetime | None = version.time
    if time is None and version.commit:
        time = parse_instant(version.commit)
    return replace(version, time=time)


def preview_schema(
    app: App, storage_options: Mapping[str, str], name: str, objects: Sequence[str]
) -> list[ObjectPreview]:
    """Return what the objects would do to the table's columns; writes nothing.

    Each object is a key of the source, an address such as `s3://bucket/key`, or a file on this machine. Its
    preview reports an object that cannot be read. Raises `UsageError` for an unknown table.
    """
    build_scope(app.settings, name)
    state = read_state(app.settings, storage_options, name)
    found = [locate_object(app, text) for text in objects]
    config = app.settings.tables[name]
    rules = ChangeRules.of(name, config)
    options = {**config.options, **(rules.reader_options if rules else {})}
    return SchemaPreview(app.spark, name, config, options).preview(found, state.schema)


def locate_object(app: App, text: str) -> tuple[ObjectStoreConfig, ObjectRef]:
    """Return where the object named by its key, address, or path on this machine is stored.

    Raises `UsageError` for a missing file.
    """
    for source in app.settings.sources:
        if source.type == "local" and (below := _find_below(source, text)) is not None:
            return app.build_source_store(source), _refer("local", source.location, below)
    path = Path(text)
    if path.is_file():
        return ObjectStoreConfig("local"), _refer("local", str(path.absolute().parent), path.name)
    buckets = [source for source in app.settings.sources if source.type != "local"]
    if not buckets:
        folders = " or ".join(source.location for source in app.settings.sources)
        raise UsageError(f"{text}: no such file, neither at this path nor in the source folder {folders}")
    source, bucket, key = buckets[0], buckets[0].location, text
    if "://" in text:
        bucket, _, key = text.split("://", 1)[1].partition("/")
        # The address of a container for Spark ends in its account.
        bucket = bucket.partition("@")[0]
        source = next((one for one in buckets if bucket in (one.location, one.known_location)), source)
    elif len(buckets) > 1:
        shown = ", ".join(one.address for one in buckets)
        raise UsageError(f"{text} is a key, and there are several buckets", hint=f"specify one of {shown}")
    return app.build_source_store(source), _refer(source.type, bucket, key)


def _find_below(source: LocalSourceConfig, text: str) -> str | None:
    """Return the path of a file below the folder; None if there is none."""
    try:
        below = LocalSource(source).parse_address(text)
    except UsageError:
        return None
    root = Path(source.location)
    file = root / below
    return str(file.relative_to(root)) if file.is_file() and file.is_relative_to(root) else None


def _refer(provider: str, bucket: str, key: str) -> ObjectRef:
    return ObjectRef(provider, bucket, key, None, None, None)

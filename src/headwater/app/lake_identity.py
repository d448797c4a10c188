"""Records the source and the format of a lake, and compares them with the configuration and this release."""

from collections.abc import Mapping

from headwater.app.restore_state import ensure_restored
from headwater.app.scope import source_bucket, source_provider
from headwater.capture.events_table import EventsTable
from headwater.config.settings import Settings
from headwater.errors import TableUnsupportedError, UsageError
from headwater.lake.layout import events_path
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.storage_options import build_storage_options

SOURCE_KEY = "source"
"""Key in the metadata of each commit of the events table, with `s3:BUCKET` or `local:FOLDER` as value."""

FORMAT_KEY = "format"
"""Key in the same metadata, absent before 25 November 2026, which means 1."""
FORMAT = 1
"""Raised whenever an older release could not continue a lake: it would misread events, checkpoints, ledger or
chunks. Older formats are read and replaced as commits are made."""


def name_source(settings: Settings) -> str:
    """Return the source as the events table records it."""
    return f"{source_provider(settings)}:{source_bucket(settings)}"


def build_identity(settings: Settings) -> dict[str, str]:
    """Return the metadata of each commit of the events table."""
    return {SOURCE_KEY: name_source(settings), FORMAT_KEY: str(FORMAT)}


def ensure_usable_lake(settings: Settings) -> None:
    """Raise `UsageError` when the lake was filled from another bucket or folder than the configured one, or
    by a release with a newer format. Raises `LakeError` for one whose restore was interrupted.

    Starts no Spark. For a lake that only Spark can read, `check_usable_lake` does this when a run has its
    session.
    """
    ensure_restored(settings)
    reader = SnapshotReader(
        events_path(settings.lake), build_storage_options(settings.lake, settings.lake_storage)
    )
    try:
        if not reader.exists() or not reader.commit_names:
            return
        found = reader.find_metadata(SOURCE_KEY)
        check_format(settings.lake, found or {})
        known = found[SOURCE_KEY] if found else None
        if known == name_source(settings):
            return
        captured = _read_sources(reader)
    except TableUnsupportedError:
        return
    if known is None and name_source(settings) not in captured:
        known = captured[0]
    # If the source was corrected before anything was captured, no table has a row of the old one.
    check_source(settings, known if known in captured else None)


def check_usable_lake(settings: Settings, events: EventsTable) -> None:
    """Check the same with Spark, for any lake. Raises `UsageError`."""
    found = events.find_metadata(SOURCE_KEY) or {}
    check_format(settings.lake, found)
    known = found.get(SOURCE_KEY)
    if known is None or known == name_source(settings):
        return
    if events.has_events_of(known.partition(":")[2]):
        check_source(settings, known)


def check_format(lake: str, metadata: Mapping[str, str]) -> None:
    """Raise `UsageError` for metadata of a format that this release does not know."""
    found = metadata.get(FORMAT_KEY, "1")
    if not found.isdecimal() or int(found) > FORMAT:
        raise UsageError(
            f"the lake {lake} has format {found}, written by a newer headwater; this release knows "
            f"formats up to {FORMAT}",
            hint="upgrade headwater, in all processes that use the lake",
        )


def _read_sources(reader: SnapshotReader) -> list[str]:
    """Return the sources of all events, for a lake whose commits do not name one yet.

    A queue may have received events of other buckets; the bucket with the most events comes first.
    """
    rows = reader.read(["provider", "bucket"])
    counted = rows.group_by(["provider", "bucket"]).aggregate([([], "count_all")]).to_pylist()
    ranked = sorted(counted, key=lambda row: -int(row["count_all"]))
    return [f"{row['provider']}:{row['bucket']}" for row in ranked]


def check_source(settings: Settings, known: str | None) -> None:
    """Raise `UsageError` when `known`, from which events were captured, is not the configured source."""
    if known is None or known == name_source(settings):
        return
    provider, _, location = known.partition(":")
    source = settings.source
    what = f"the lake {settings.lake} was filled from {_describe(provider, location)}"
    if provider != source_provider(settings):
        raise UsageError(
            f"{what}; source.type is now {source.type}",
            hint="use a separate lake for the new source: set lake to another location",
        )
    hint = "set lake to another location, so that the objects get their own tables"
    if "moved_from" in type(source).model_fields:
        hint = (
            f"the same objects at a new location: add `moved_from: {location}` to source; otherwise, {hint}"
        )
    raise UsageError(f"{what}; source.{source.location_key} is now {source.location}", hint=hint)


def _describe(provider: str, location: str) -> str:
    return f"the folder {location}" if provider == "local" else f"the bucket {location}"

"""Records the source and the format of a lake, and compares them with the configuration and this release."""

from collections.abc import Mapping, Sequence

import structlog

from headwater.app.restore_state import ensure_restored
from headwater.app.scope import list_buckets
from headwater.capture.events_table import EventsTable
from headwater.config.settings import Settings
from headwater.errors import TableUnsupportedError, UsageError
from headwater.lake.layout import events_path
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.storage_options import build_storage_options

log = structlog.stdlib.get_logger(__name__)

SOURCE_KEY = "source"
"""Key in the metadata of each commit of the events table. Its value has a line for each source, such as
`s3:BUCKET` or `local:FOLDER`."""

FORMAT_KEY = "format"
"""Key in the same metadata, absent before 25 November 2026, which means 1."""
FORMAT = 1
"""Raised whenever an older release could not continue a lake: it would misread events, checkpoints, ledger or
chunks. Older formats are read and replaced as commits are made."""


def name_sources(settings: Settings) -> str:
    """Return the sources as the events table records them."""
    return "\n".join(sorted(f"{provider}:{bucket}" for bucket, provider in list_buckets(settings).items()))


def list_missing(known: str, configured: str) -> list[str]:
    """Return the recorded sources that are not configured. Pure."""
    return sorted(set(known.splitlines()) - set(configured.splitlines()))


def build_identity(settings: Settings) -> dict[str, str]:
    """Return the metadata of each commit of the events table."""
    return {SOURCE_KEY: name_sources(settings), FORMAT_KEY: str(FORMAT)}


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
        configured = name_sources(settings)
        if known is not None and not list_missing(known, configured):
            return
        captured = [f"{provider}:{bucket}" for provider, bucket in count_events(reader)]
    except TableUnsupportedError:
        return
    if not captured:
        # Nothing was captured from any source: the only commit is the one that begins the timeline.
        return
    if known is None:
        # The bucket with the most events comes first.
        is_known = set(captured) & set(configured.splitlines())
        known = configured if is_known else captured[0]
    # If a source was corrected before anything of it was captured, no table has a row of the old one.
    missing = [source for source in list_missing(known, configured) if source in captured]
    check_sources(settings, missing)


def check_usable_lake(settings: Settings, events: EventsTable) -> None:
    """Check the same with Spark, for any lake. Raises `UsageError`."""
    found = events.find_metadata(SOURCE_KEY) or {}
    check_format(settings.lake, found)
    known, configured = found.get(SOURCE_KEY, ""), name_sources(settings)
    for added in list_missing(configured, known) if known else ():
        if events.has_events_of(added.partition(":")[2]):
            log.warning(
                "events of a new source were captured before it was a source; no table has read them",
                source=added,
                hint="ingest its objects: headwater verify --repair",
            )
    missing = list_missing(known, configured)
    check_sources(settings, [one for one in missing if events.has_events_of(one.partition(":")[2])])


def check_format(lake: str, metadata: Mapping[str, str]) -> None:
    """Raise `UsageError` for metadata of a format that this release does not know."""
    found = metadata.get(FORMAT_KEY, "1")
    if not found.isdecimal() or int(found) > FORMAT:
        raise UsageError(
            f"the lake {lake} has format {found}, written by a newer headwater; this release knows "
            f"formats up to {FORMAT}",
            hint="upgrade headwater, in all processes that use the lake",
        )


def count_events(reader: SnapshotReader) -> dict[tuple[str, str], int]:
    """Return the numbers of events by provider and bucket, the highest first.

    A queue may have received events of other buckets than the configured ones. Raises `LakeError`.
    """
    rows = reader.read(["provider", "bucket"])
    counted = rows.group_by(["provider", "bucket"]).aggregate([([], "count_all")]).to_pylist()
    ranked = sorted(counted, key=lambda row: -int(row["count_all"]))
    return {(str(row["provider"]), str(row["bucket"])): int(row["count_all"]) for row in ranked}


def check_sources(settings: Settings, missing: Sequence[str]) -> None:
    """Raise `UsageError` for a source from which events were captured, and that is not configured."""
    if not missing:
        return
    provider, _, location = missing[0].partition(":")
    what = f"the lake {settings.lake} was filled from {_describe(provider, location)}"
    if len(settings.sources) > 1:
        raise UsageError(
            f"{what}, which is not among the configured sources",
            hint=f"add it to source again; the same objects at a new location: add `moved_from: {location}` "
            "to their source",
        )
    (source,) = settings.sources
    if provider != source.type:
        raise UsageError(
            f"{what}; source.type is now {source.type}",
            hint="use a separate lake for the new source: set lake to another location; or make source a "
            "list of both",
        )
    hint = (
        "set lake to another location, so that the objects get their own tables, or make source a list "
        "of both"
    )
    if "moved_from" in type(source).model_fields:
        hint = (
            f"the same objects at a new location: add `moved_from: {location}` to source; otherwise, {hint}"
        )
    raise UsageError(f"{what}; source.{source.location_key} is now {source.location}", hint=hint)


def _describe(provider: str, location: str) -> str:
    kind = {"local": "folder", "kafka": "cluster"}.get(provider, "bucket")
    return f"the {kind} {location}"

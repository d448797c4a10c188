"""Cleans the source: tags, moves or deletes objects that all of their tables have ingested."""

from headwater.config.source import SourceConfig
from headwater.ingest.cleaning.protocol import CleanResult, CleanTarget, SourceCleaner

__all__ = ["CleanResult", "CleanTarget", "SourceCleaner", "build_cleaner"]


def build_cleaner(source: SourceConfig) -> SourceCleaner:
    """Builds the cleaner for `clean_source`, which must not be `off`. Raises `SourceError`."""
    assert source.clean_source != "off"  # noqa: S101 - no caller requests a cleaner that is off
    # Imported on demand: a folder source needs no AWS SDK.
    if source.type == "local":
        from headwater.ingest.cleaning.local import LocalCleaner

        move_to = str(source.clean_source_move_to or "")
        return LocalCleaner(source.path, CleanTarget(source.clean_source, move_to))
    from headwater.capture.listers.s3 import build_listing_client
    from headwater.ingest.cleaning.s3 import S3Cleaner

    target = CleanTarget(source.clean_source, source.clean_source_target, source.clean_source_tags)
    # As patient as a listing: both process a whole bucket.
    return S3Cleaner(build_listing_client(source), source.bucket, target)

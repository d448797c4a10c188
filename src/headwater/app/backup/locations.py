"""Locations of backups: how they are opened, and which are refused."""

from collections.abc import Iterator
from pathlib import Path

from headwater.config.lake_storage import LakeStorageConfig
from headwater.config.settings import Settings
from headwater.errors import UsageError
from headwater.lake.file_store import FileStore
from headwater.lake.layout import OWN_FOLDER, list_tables
from headwater.lake.options import TABLE_PROPERTIES_FILE
from headwater.lake.snapshot_reader import to_uri
from headwater.lake.storage_options import build_storage_options


def open_location(location: str, store: LakeStorageConfig) -> FileStore:
    """Return the files below a folder or URL; `store` is that of an `s3://` location."""
    url = f"s3a://{location.partition('://')[2]}" if location.startswith("s3://") else location
    return FileStore(url, lambda: build_storage_options(url, store))


def choose_storage(settings: Settings, region: str | None, endpoint: str | None) -> LakeStorageConfig:
    """Return the store of a backup: that of the lake, unless another region or endpoint is given."""
    if region is None and endpoint is None:
        return settings.lake_storage
    return LakeStorageConfig(region=region, endpoint=endpoint)


def check_destination(location: str, settings: Settings) -> None:
    """Raise `UsageError` for a destination inside the lake or the source, or around the lake."""
    where, lake = _normalize(location), _normalize(settings.lake)
    if is_inside(where, lake):
        raise UsageError(
            f"{location} is inside the lake {settings.lake}",
            hint="choose a location outside the lake, on other storage if possible",
        )
    if is_inside(lake, where):
        raise UsageError(
            f"{location} contains the lake {settings.lake}", hint="choose a location outside the lake"
        )
    for source in _list_sources(settings):
        if is_inside(where, source):
            raise UsageError(
                f"{location} is inside the source {source}: headwater would ingest the backup",
                hint="choose a location outside the source",
            )


def is_inside(path: str, folder: str) -> bool:
    """True if a normalized path is a folder, or below it. Pure."""
    return f"{path}/".startswith(f"{folder}/")


def _list_sources(settings: Settings) -> Iterator[str]:
    for source in settings.sources:
        if source.type == "local":
            yield _normalize(str(source.path))
        elif source.type == "azure":
            # It names the account, too.
            yield source.address.rstrip("/")
        else:
            scheme = source.address.partition("://")[0]
            yield f"{scheme}://{source.location}/{source.prefix}".rstrip("/")


def _normalize(location: str) -> str:
    url = to_uri(location).rstrip("/")
    return url if "://" in url else str(Path(url).resolve())


def find_unconfigured(lake: FileStore, settings: Settings) -> list[str]:
    """Return folders of the lake with a table that is not configured. Lists folders only."""
    known = set(list_tables(settings)) | {OWN_FOLDER}
    return sorted(
        name
        for name in lake.list_folders()
        if name not in known and lake.read_if_there(f"{name}/{TABLE_PROPERTIES_FILE}")
    )

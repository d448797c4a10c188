"""`IcebergStatus`: which commit the Iceberg view of a table shows, and how far it is behind."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial

from headwater.capture.position import parse_instant
from headwater.config.settings import Settings
from headwater.errors import LakeError
from headwater.lake.file_store import FileStore
from headwater.lake.layout import iceberg_view_path
from headwater.lake.storage_options import build_storage_options
from headwater.lake.timeline import Commit

_FAILURE = "failure.json"


@dataclass(frozen=True, slots=True)
class ViewFailure:
    """Why the last update of a view failed, and since when updates fail, as ISO 8601 in UTC."""

    error: str
    hint: str
    failing_since: str


@dataclass(frozen=True, slots=True)
class IcebergStatus:
    """The view at `address`, whose newest metadata is in the file `metadata`; empty without one.

    `shown` is when the commit that it shows completed; None without a view. `lag_commits` counts the later
    commits of the table; `lag_seconds` is the age of the oldest of them, 0 without any. `error` is that of
    the last update; empty if it worked.
    """

    address: str
    metadata: str
    shown: datetime | None
    lag_commits: int
    lag_seconds: float
    error: str = ""
    hint: str = ""
    failing_since: str = ""


def open_store(settings: Settings, name: str) -> FileStore:
    """Return the folder of a table's view."""
    build = partial(build_storage_options, settings.lake, settings.lake_storage)
    return FileStore(iceberg_view_path(settings.lake, name), build)


def list_abandoned(settings: Settings) -> list[str]:
    """Return the tables that have a view which no run updates any more. Raises `LakeError`."""
    known = open_store(settings, "").list_folders()
    return [name for name in known if name not in settings.tables or not settings.tables[name].iceberg]


def read_status(settings: Settings, name: str, commits: Sequence[Commit], now: datetime) -> IcebergStatus:
    """Read the state of a view, given the table's completed writes. A view that cannot be read has an
    error."""
    from headwater.lake.iceberg_view.versions import ViewVersions, build_name

    store = open_store(settings, name)
    try:
        version, failure = ViewVersions(store).find_newest(), read_failure(store)
    except LakeError as error:
        version, failure = None, ViewFailure(error.message, error.hint, "")
    shown = version.completed if version else ""
    later = [commit.completed for commit in commits if commit.completed > shown]
    oldest = parse_instant(min(later)) if later else None
    return IcebergStatus(
        address=store.url,
        metadata=f"{store.url}/{build_name(version.number)}" if version else "",
        shown=parse_instant(shown) if shown else None,
        lag_commits=len(later),
        lag_seconds=max(0.0, (now - oldest).total_seconds()) if oldest else 0.0,
        **(asdict(failure) if failure else {}),
    )


def read_failure(store: FileStore) -> ViewFailure | None:
    """Return why the last update failed; None if it worked. Raises `LakeError`."""
    content = store.read_if_there(_FAILURE)
    with suppress(ValueError, TypeError):
        found = json.loads(content or b"null")
        return ViewFailure(**found) if isinstance(found, Mapping) else None
    return None


def write_failure(store: FileStore, failure: ViewFailure | None) -> None:
    """Record why updates fail, or that the last one worked. Raises `LakeError`."""
    if failure is None:
        store.delete(_FAILURE)
    else:
        store.write(_FAILURE, json.dumps(asdict(failure)).encode())

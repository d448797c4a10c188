"""Checks that the lake is writable, with a temporary file or object, or with a whole table through Spark."""

import tempfile
import threading
import uuid
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from headwater.config.environment import read_environment
from headwater.config.settings import Settings
from headwater.errors import CredentialsError, HeadwaterError, LakeNotWritableError
from headwater.lake.layout import OWN_FOLDER
from headwater.lake.prerequisites.azure_driver import ensure_azure_credentials
from headwater.sources.finding import SetupFinding, to_finding

LAKE = "lake"
SPARK = "spark"

_ANSWER_SECONDS = 30.0


def check_lake(settings: Settings) -> list[SetupFinding]:
    """Try to write to the lake without Spark; a warning where only Spark can."""
    lake = settings.lake
    if find_local_path(lake) is not None:
        try:
            ensure_local_lake(lake)
        except LakeNotWritableError as error:
            return [to_finding(LAKE, error)]
        return [SetupFinding(LAKE, "ok", f"{lake} is writable")]
    scheme = urlsplit(lake).scheme
    if scheme in ("s3", "s3a"):
        from headwater.sources.s3.checks.bucket import check_s3_lake

        return check_s3_lake(lake, settings.lake_storage)
    if scheme in ("gs", "abfs", "abfss"):
        try:
            ensure_azure_credentials(settings, read_environment())
        except CredentialsError as error:
            return [to_finding(LAKE, error)]
        return [_check_in_time(settings)]
    detail = f"only Spark can check whether {scheme}:// is writable"
    return [SetupFinding(LAKE, "warning", detail, "run headwater doctor --spark")]


def _check_in_time(settings: Settings) -> SetupFinding:
    """Check the lake by a client that retries each of its requests for a long time."""
    found: list[SetupFinding] = []
    thread = threading.Thread(target=lambda: found.append(_check_files(settings)), daemon=True)
    thread.start()
    thread.join(_ANSWER_SECONDS)
    if found:
        return found[0]
    detail = f"{settings.lake} did not answer within {_ANSWER_SECONDS:.0f} s"
    return SetupFinding(
        LAKE, "problem", detail, "check the network, the credentials, and lake_storage.endpoint if it is set"
    )


def _check_files(settings: Settings) -> SetupFinding:
    """Write and delete a small object under the lake."""
    from headwater.lake.file_store import FileStore
    from headwater.lake.storage_options import build_storage_options

    store = FileStore(settings.lake, lambda: build_storage_options(settings.lake, settings.lake_storage))
    name = f"{OWN_FOLDER}/doctor-{uuid.uuid4().hex}"
    try:
        store.write(name, b"")
        store.delete(name)
    except HeadwaterError as error:
        return to_finding(LAKE, error)
    return SetupFinding(LAKE, "ok", f"{settings.lake} is writable")


def find_local_path(lake: str) -> Path | None:
    """Return the folder of a lake on this machine; None for any other lake."""
    parts = urlsplit(lake)
    if parts.scheme == "file":
        return Path(parts.path)
    return None if "://" in lake else Path(lake)


def ensure_local_lake(lake: str) -> None:
    """Raise `LakeNotWritableError` when no file can be created there. Ignores lakes not on this machine.

    Leaves nothing behind. For a lake that does not exist yet, its nearest existing parent is tried.
    """
    path = find_local_path(lake)
    if path is None:
        return
    folder = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".headwater-"):
            pass
    except OSError as error:
        raise LakeNotWritableError(
            f"the lake {lake} is not writable: {folder}: {error.strerror}",
            hint=f"grant this user write permission for {folder}, or set lake to another location",
        ) from error


def check_spark(settings: Settings, environ: Mapping[str, str]) -> SetupFinding:
    """Start a session, write a tiny table to the lake, read it and remove it."""
    from headwater.app.application import App
    from headwater.app.trial_table import try_table

    try:
        with closing(App(settings, environ=environ)) as app:
            seconds = try_table(app)
    except HeadwaterError as error:
        return to_finding(SPARK, error)
    return SetupFinding(
        SPARK, "ok", f"wrote, read and removed a table in {seconds:.0f} s, including the session start"
    )

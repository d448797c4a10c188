"""Checks before a run starts: they take seconds, fail before Spark would, and with clearer messages."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from headwater.app.lake_check import ensure_local_lake
from headwater.app.roles import Roles
from headwater.app.schema_check import check_schemas
from headwater.app.webhooks import ensure_headers
from headwater.config.settings import Settings
from headwater.errors import ConfigError
from headwater.lake.prerequisites.java import find_java
from headwater.lake.transforms.checking import check_processing
from headwater.sources.registry import build_source


def check_before_run(settings: Settings, environ: Mapping[str, str], *, captures: bool = True) -> None:
    """Raise the first error that would make a run fail. Starts no Spark; runs all checks concurrently.

    `captures`: the process reads the queue.

    Raises:
        PlatformError: no usable Java.
        LakeNotWritableError: a lake on this machine is not writable.
        CredentialsError: missing or wrong credentials, or the clock is too far off.
        SourceError: no such folder, bucket or queue (`QueueNotFoundError`), or it does not answer.
        ConfigError: no region found; an invalid transform, check or schema of a table; the file of
            `lineage` is not writable; invalid headers of webhooks in the environment.
    """
    checks: list[Callable[[], object]] = [
        lambda: check_processing(settings, environ),
        lambda: check_schemas(settings),
        lambda: find_java(environ),
        lambda: ensure_local_lake(settings.lake),
        lambda: _ensure_lineage_file(settings),
        lambda: ensure_headers(environ),
        *(
            check
            for source in settings.sources
            for check in build_source(source).list_preflight_checks(captures=captures)
        ),
    ]
    with ThreadPoolExecutor(len(checks), thread_name_prefix="preflight") as pool:
        for future in [pool.submit(check) for check in checks]:
            future.result()


def check_before_roles(settings: Settings, environ: Mapping[str, str], roles: Roles) -> None:
    """Check what a process with these roles needs. Raises as the two other checks do."""
    if roles.serves_only:
        check_before_services(settings, environ)
    else:
        check_before_run(settings, environ, captures=roles.has("capture"))


def check_before_services(settings: Settings, environ: Mapping[str, str]) -> None:
    """Check the same for table services, which need no source.

    Raises `PlatformError`, `LakeNotWritableError`.
    """
    find_java(environ)
    ensure_local_lake(settings.lake)


def _ensure_lineage_file(settings: Settings) -> None:
    file = settings.lineage.file if settings.lineage else None
    if file is None:
        return
    try:
        with file.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise ConfigError(
            f"lineage.file: {file} is not writable: {error.strerror}",
            hint="specify a file in an existing folder that this user can write to",
        ) from error

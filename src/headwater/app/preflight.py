"""What must be true before a run starts; seconds before Spark would find out, and in clearer words."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from headwater.app.lake_check import ensure_local_lake
from headwater.config.settings import Settings
from headwater.config.source import SourceConfig
from headwater.errors import ConfigError
from headwater.lake.prerequisites.java import find_java
from headwater.lake.transforms.checking import check_processing


def check_before_run(settings: Settings, environ: Mapping[str, str]) -> None:
    """Raise the first thing that would make a run fail. Starts no Spark; all is asked at the same time.

    Raises:
        PlatformError: no usable Java.
        LakeNotWritableError: a lake on this machine cannot be written.
        CredentialsError: none, or wrong ones, or the clock is too far off.
        SourceError: no such folder, bucket or queue (`QueueNotFoundError`), or it does not answer.
        ConfigError: no region is to be found; a step or a check of a table cannot be; the file of `lineage`
            cannot be written.
    """
    checks: list[Callable[[], object]] = [
        lambda: check_processing(settings, environ),
        lambda: find_java(environ),
        lambda: ensure_local_lake(settings.lake),
        lambda: _ensure_lineage_file(settings),
        *_list_source_checks(settings.source),
    ]
    with ThreadPoolExecutor(len(checks), thread_name_prefix="preflight") as pool:
        for future in [pool.submit(check) for check in checks]:
            future.result()


def check_before_services(settings: Settings, environ: Mapping[str, str]) -> None:
    """The same for table services, which need no source. Raises `PlatformError`, `LakeNotWritableError`."""
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
            f"lineage.file: {file} cannot be written: {error.strerror}",
            hint="name a file in a folder that is there and that this user may write in",
        ) from error


def _list_source_checks(source: SourceConfig) -> list[Callable[[], object]]:
    if source.type == "local":
        from headwater.capture.resources.local import ensure_folder

        return [lambda: ensure_folder(source)]
    from headwater.capture.resources.s3 import ensure_bucket
    from headwater.capture.resources.sqs import read_attributes

    # The bucket first: of a wrong one there is no queue either, and the queue's name is made of it.
    return [lambda: ensure_bucket(source), lambda: read_attributes(source)]

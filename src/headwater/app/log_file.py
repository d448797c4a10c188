"""The log file of a run, from its configuration."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from headwater.config.observability import ObservabilityConfig
from headwater.errors import HeadwaterError, PlatformError
from headwater.observability.log_file import LogFile


@contextmanager
def log_to_file(config: ObservabilityConfig) -> Iterator[None]:
    """Also log to the configured file inside the block; the error that ends the block is in it, too.

    Without a configured file, nothing changes. Raises `PlatformError` if the file cannot be written.
    """
    if config.log_file is None:
        yield
        return
    try:
        handler = LogFile(config.log_file, int(config.log_max_bytes), config.log_backups)
    except OSError as error:
        raise _explain(config, error) from error
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    except HeadwaterError as error:
        # On stderr, the command prints it.
        extra = {"error": error.message, "hint": error.hint}
        handler.handle(root.makeRecord(__name__, logging.ERROR, "", 0, "run failed", (), None, extra=extra))
        raise
    finally:
        root.removeHandler(handler)
        handler.close()


def _explain(config: ObservabilityConfig, error: OSError) -> PlatformError:
    if isinstance(error, BlockingIOError):
        return PlatformError(
            f"the log file {config.log_file} (observability.log_file) is in use by another process",
            hint="set a file for each process, such as --set observability.log_file=capture.log",
        )
    return PlatformError(
        f"cannot write the log file {config.log_file} (observability.log_file): {error.strerror or error}",
        hint="choose another location, or give this user write access to its folder",
    )

"""`observability:` how a run can be watched from outside."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ByteSize, Field

from headwater.config.file_paths import resolve_path
from headwater.config.listen_address import check_listen_address
from headwater.config.section import ByteCount, Section

_MIN_LOG_BYTES = 65_536


def _check_log_size(size: ByteSize) -> ByteSize:
    if size < _MIN_LOG_BYTES:
        raise ValueError(f"{int(size)} bytes are too few. Allowed: 64KiB or more")
    return size


class ObservabilityConfig(Section):
    """How a run can be watched from outside."""

    listen: Annotated[str, AfterValidator(check_listen_address)] | None = Field(
        None,
        description="Address, as host:port, on which `headwater run` serves `/metrics`, `/healthz` and "
        "`/readyz`; without authentication. Default: no server. `--metrics-port` takes precedence.",
        examples=["127.0.0.1:9108", "[::]:9108"],
    )
    log_file: Annotated[Path, AfterValidator(resolve_path)] | None = Field(
        None,
        description="File to which `headwater run` logs in addition to stderr, one JSON document per line; "
        "relative to the configuration file. Each process needs a file of its own.",
        examples=["headwater.log"],
    )
    log_max_bytes: Annotated[ByteCount, AfterValidator(_check_log_size)] = Field(
        ByteSize(64 * 1024 * 1024), description="Size at which the log file is rotated, at least 64KiB."
    )
    log_backups: int = Field(5, ge=1, le=1000, description="Number of rotated log files to keep.")

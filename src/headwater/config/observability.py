"""`observability:` how a run can be watched from outside."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, ByteSize, Field

from headwater.config.file_paths import resolve_path
from headwater.config.listen_address import check_listen_address
from headwater.config.section import ByteCount, Section

HEADERS_VARIABLE = "OTEL_EXPORTER_OTLP_HEADERS"
"""The environment variable with headers for the collector, which the SDK of OpenTelemetry reads."""
TRACES_PATH = "/v1/traces"
"""Where a collector receives traces, below its URL."""
_MIN_LOG_BYTES = 65_536


def _check_log_size(size: ByteSize) -> ByteSize:
    if size < _MIN_LOG_BYTES:
        raise ValueError(f"{int(size)} bytes are too few. Allowed: 64KiB or more")
    return size


def _check_endpoint(url: str) -> str:
    try:
        parts = urlsplit(url)
        # Reading an invalid port raises.
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or parts.query or parts.fragment:
        raise ValueError(f"{url!r} is not a valid URL; write, for example, http://collector:4318")
    if parts.username or parts.password:
        raise ValueError(f"credentials do not belong in a URL; set `{HEADERS_VARIABLE}` in the environment")
    return url.rstrip("/").removesuffix(TRACES_PATH)


class TracingConfig(Section):
    """A collector that receives an OpenTelemetry trace for each batch, by OTLP over HTTP. It never delays or
    fails a batch. `tracing: {}` takes everything from the `OTEL_*` variables of the environment."""

    endpoint: Annotated[str, AfterValidator(_check_endpoint)] | None = Field(
        None,
        description=f"URL of the collector; traces are posted to `{TRACES_PATH}` below it. Default: "
        "`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, or `OTEL_EXPORTER_OTLP_ENDPOINT`, or http://localhost:4318. "
        f"Headers, such as an API key, come from the environment variable `{HEADERS_VARIABLE}`.",
        examples=["http://collector:4318"],
    )
    sample_ratio: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Share of traces to send, from 0 to 1. Default: `OTEL_TRACES_SAMPLER`, or all.",
    )


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
    tracing: TracingConfig | None = Field(
        None, description="Where `headwater run` sends its traces. Default: it makes none."
    )

"""One log for headwater and its libraries (stdlib logging): stderr, UTC, no secrets."""

import logging
import sys
from collections.abc import MutableMapping, Sequence
from typing import Any

import structlog
from structlog.typing import Processor

from headwater.observability.redaction import redact
from headwater.observability.tracing.traces import add_trace_ids

# Their INFO level logs every request; their WARNING level is useful.
NOISY_LIBRARIES = (
    "azure",
    "boto3",
    "botocore",
    "httpcore",
    "httpx",
    "httpx2",
    "openai",
    "py4j",
    "s3transfer",
    "urllib3",
    "uvicorn",
    "uvicorn.error",
    "watchfiles",
)


_SHARED: Sequence[Processor] = (
    structlog.contextvars.merge_contextvars,
    add_trace_ids,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
)


def configure_logging(verbose: bool, json: bool, quiet: bool = False) -> None:
    """Send log lines to stderr: JSON when requested or when stderr is not a terminal, else text.

    `verbose` adds debug lines, `quiet` keeps warnings only. May be called again; the last call wins.
    """
    level = logging.DEBUG if verbose else logging.WARNING if quiet else logging.INFO
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(build_formatter(as_json=json or not sys.stderr.isatty()))
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    if not verbose:
        handler.addFilter(_is_from_known_logger)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in NOISY_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)


def pass_logs_on() -> None:
    """Pass log lines to the loggers `headwater.*` of stdlib logging, whose owner is the calling program.

    Unless structlog is configured already. Without any configuration, Python prints warnings only.
    """
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            structlog.processors.format_exc_info,
            _redact_event,
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
    )


def _is_from_known_logger(record: logging.LogRecord) -> bool:
    # py4j logs each request to a JVM that has ended by the root logger, with a traceback. The run reports it.
    return not (record.name == "root" and record.module in {"clientserver", "java_gateway"})


def build_formatter(*, as_json: bool) -> logging.Formatter:
    """Return the formatter of a handler, for records of headwater and of its libraries."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.ExtraAdder(), *_SHARED],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(as_json)],
    )


def _rendering(as_json: bool) -> list[Processor]:
    renderer: Processor = (
        structlog.processors.JSONRenderer(default=str)
        if as_json
        # The plain formatter: rich's shows local variables, which can hold secrets.
        else structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    )
    # Tracebacks become text first: they can contain secrets, too.
    return [structlog.processors.format_exc_info, _redact_event, renderer]


def _redact_event(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for name, value in event.items():
        event[name] = redact(value, name)
    return event

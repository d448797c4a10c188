"""Queues by source type. To add one: add a file here, a line in the table, a line in the contract test."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from headwater.capture.queues.protocol import Message, Queue, QueueDepth
from headwater.errors import PlatformError, UsageError

if TYPE_CHECKING:
    from headwater.config.source import SourceConfig

__all__ = ["Message", "Queue", "QueueDepth", "build_queue"]


@dataclass(frozen=True, slots=True)
class _Entry:
    """The builder of a queue, and what to install if its module cannot be imported."""

    module: str
    function: str
    install: str = "pip install headwater"


_QUEUES: Mapping[str, _Entry] = {
    "local": _Entry("headwater.capture.queues.memory", "build_memory_queue"),
    "s3": _Entry("headwater.capture.queues.sqs", "build_sqs_queue", "pip install boto3"),
}


def build_queue(source: "SourceConfig") -> Queue:
    """Builds the queue of a source's notifications; imports vendor libraries only when chosen.

    Raises `PlatformError` if the vendor's library is missing, `ConfigError` if the source's configuration is
    incomplete, and `UsageError` for a type without a queue.
    """
    entry = _QUEUES.get(source.type)
    if entry is None:
        raise UsageError(f"no queue for sources of type {source.type!r}", hint=f"one of {', '.join(_QUEUES)}")
    try:
        module = import_module(entry.module)
    except ImportError as error:
        raise PlatformError(
            f"sources of type {source.type!r} need a library that is missing: {error}", hint=entry.install
        ) from error
    build = cast("Callable[[SourceConfig], Queue]", getattr(module, entry.function))
    return build(source)

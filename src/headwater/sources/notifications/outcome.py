"""The outcome of parsing one message body: events, skips or a rejection."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from headwater.sources.object_event import ObjectEvent

SkipReason = Literal["test_event", "subscription_confirmation", "unsubscribe_confirmation", "empty_records"]
RejectReason = Literal["malformed_json", "unknown_shape", "missing_field", "too_large", "bad_encoding"]


class UnusableRecordError(Exception):
    """Raised if one record, or the whole body, is unusable. Never leaves `parse_message`."""

    def __init__(self, reason: RejectReason, detail: str) -> None:
        super().__init__(detail)
        self.reason: RejectReason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Skipped:
    """A valid body that names no object event."""

    reason: SkipReason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A bad record. `index` is 0-based in its body; `raw` is its JSON text, or ""."""

    index: int
    reason: RejectReason
    detail: str
    raw: str


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """The outcome of one body: `events` in the order sent, `skipped`, or `rejected`.

    `rejected` is set if nothing in the body is usable; if all its records are bad, it is the reason of the
    first. `rejected_records` are the bad records, with or without good ones. `detail` describes the
    problem; empty if there is none.
    """

    events: tuple[ObjectEvent, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    rejected: RejectReason | None = None
    rejected_records: tuple[RejectedRecord, ...] = ()
    detail: str = ""


MessageParser = Callable[[str, Mapping[str, str]], ParsedMessage]
"""Parses a body, given the attributes of its message, as `parse_message` does."""

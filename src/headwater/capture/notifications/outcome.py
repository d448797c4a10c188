"""What a parser makes of one message body. Every body ends as events, skips or a rejection."""

from dataclasses import dataclass
from typing import Literal

from headwater.capture.object_event import ObjectEvent

SkipReason = Literal["test_event", "subscription_confirmation", "unsubscribe_confirmation", "empty_records"]
RejectReason = Literal["malformed_json", "unknown_shape", "missing_field", "too_large", "bad_encoding"]


class UnusableRecordError(Exception):
    """One record, or the whole body, cannot be used. Never leaves this package."""

    def __init__(self, reason: RejectReason, detail: str) -> None:
        super().__init__(detail)
        self.reason: RejectReason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Skipped:
    """The body was understood, and it names no object event."""

    reason: SkipReason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A bad record. `index` is 0-based in its body; `raw` is its JSON text, "" where it has none."""

    index: int
    reason: RejectReason
    detail: str
    raw: str


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """The outcome of one body: `events` in the order sent, `skipped`, or `rejected`.

    `rejected` is set when nothing in the body is usable; when all its records are bad it is the
    reason of the first. `rejected_records` are the bad records, whether good ones stand beside them
    or not. `detail` says in words what was wrong; it is empty where nothing was.
    """

    events: tuple[ObjectEvent, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    rejected: RejectReason | None = None
    rejected_records: tuple[RejectedRecord, ...] = ()
    detail: str = ""

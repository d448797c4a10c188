"""Converts queue message bodies to `ObjectEvent`s: pure, one file per sender's format. See `message.py`."""

from headwater.capture.notifications.message import MAX_BODY_BYTES, parse_message
from headwater.capture.notifications.outcome import (
    ParsedMessage,
    RejectedRecord,
    RejectReason,
    Skipped,
    SkipReason,
)

__all__ = [
    "MAX_BODY_BYTES",
    "ParsedMessage",
    "RejectReason",
    "RejectedRecord",
    "SkipReason",
    "Skipped",
    "parse_message",
]

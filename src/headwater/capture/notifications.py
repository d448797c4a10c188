"""The public name of `parse_message`, an alias: the parser is `headwater.sources.message_parser`."""

from headwater.sources.message_parser import MAX_BODY_BYTES, parse_message
from headwater.sources.notifications.outcome import (
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

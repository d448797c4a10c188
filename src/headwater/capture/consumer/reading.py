"""The contribution of one message to a batch. Pure."""

from dataclasses import dataclass

from headwater.capture.captured_event import CapturedEvent, EventSource
from headwater.capture.quarantine_item import MAX_PAYLOAD_CHARS, QuarantineItem
from headwater.sources.notifications.outcome import MessageParser, ParsedMessage
from headwater.sources.queue import SOURCE_ATTRIBUTE, Message


@dataclass(frozen=True, slots=True)
class MessageReading:
    """`size` is the body's length in characters, as a measure of memory."""

    message_id: str
    size: int
    events: tuple[CapturedEvent, ...]
    skipped: tuple[str, ...]
    quarantine: tuple[QuarantineItem, ...]


def read_message(message: Message, parse: MessageParser) -> MessageReading:
    """Parse a message: good records become events, and only the bad parts become quarantine items."""
    parsed = parse(message.body, message.attributes)
    source: EventSource = (
        "listing" if message.attributes.get(SOURCE_ATTRIBUTE) == "listing" else "notification"
    )
    return MessageReading(
        message_id=message.message_id,
        size=len(message.body),
        events=tuple(
            CapturedEvent(event, message.received_at, message.message_id, source) for event in parsed.events
        ),
        skipped=tuple(skipped.reason for skipped in parsed.skipped),
        quarantine=_quarantine(message, parsed),
    )


def _quarantine(message: Message, parsed: ParsedMessage) -> tuple[QuarantineItem, ...]:
    if parsed.rejected is not None:
        return (
            QuarantineItem(
                level="message",
                stage="capture",
                reason=parsed.rejected,
                detail=parsed.detail,
                quarantined_at=message.received_at,
                message_id=message.message_id,
                payload=message.body[:MAX_PAYLOAD_CHARS],
            ),
        )
    return tuple(
        QuarantineItem(
            level="record",
            stage="capture",
            reason=record.reason,
            detail=record.detail,
            quarantined_at=message.received_at,
            message_id=message.message_id,
            record_index=record.index,
            payload=(record.raw or message.body)[:MAX_PAYLOAD_CHARS],
        )
        for record in parsed.rejected_records
    )

"""Converts a queue message's body to an outcome: detects the format, separates good and bad records. Pure."""

from collections.abc import Callable, Mapping, Sequence

from headwater.sources.azure.notifications import is_azure_event, parse_azure_event
from headwater.sources.gcs.notifications import is_gcs_pull, is_gcs_push, parse_gcs_pull, parse_gcs_push
from headwater.sources.kafka.notifications import is_kafka_range, parse_kafka_range
from headwater.sources.notifications.fields import quote
from headwater.sources.notifications.json_text import parse_json, to_json
from headwater.sources.notifications.outcome import (
    ParsedMessage,
    RejectedRecord,
    Skipped,
    UnusableRecordError,
)
from headwater.sources.object_event import ObjectEvent
from headwater.sources.s3.notifications.eventbridge import is_eventbridge_event, parse_eventbridge_event
from headwater.sources.s3.notifications.records import is_test_event, parse_s3_record
from headwater.sources.s3.notifications.sns import parse_confirmation, unwrap_envelope

MAX_BODY_BYTES = 1_048_576
_MAX_UTF8_BYTES_PER_CHARACTER = 4
_MAX_ENVELOPES = 4  # topics can feed topics


def parse_message(body: str, attributes: Mapping[str, str] | None = None) -> ParsedMessage:
    """Convert a message body to events, skips or a rejection. Never raises for any input.

    `attributes` are the message's own (Pub/Sub puts the event there); they are never part of an event.
    """
    try:
        return _parse_body(body, attributes)
    except UnusableRecordError as error:
        return ParsedMessage(rejected=error.reason, detail=error.detail)
    except RecursionError:
        return ParsedMessage(rejected="malformed_json", detail="nested too deeply")
    except Exception as error:  # one message must never block the others, whatever the error
        return ParsedMessage(rejected="unknown_shape", detail=f"internal error of the parser: {error!r}")


def _parse_body(body: object, attributes: object) -> ParsedMessage:
    if not isinstance(body, str):
        raise UnusableRecordError("malformed_json", f"the body is {type(body).__name__}, not text")
    if _is_too_large(body):
        raise UnusableRecordError("too_large", f"the body has more than {MAX_BODY_BYTES:,} bytes")
    if isinstance(attributes, Mapping) and is_gcs_pull(attributes):
        return ParsedMessage(events=(parse_gcs_pull(body, attributes),))
    value = parse_json(body)
    for _ in range(_MAX_ENVELOPES):
        inner = unwrap_envelope(value) if isinstance(value, dict) else None
        if inner is None:
            return _parse_value(value)
        value = parse_json(inner)
    return _parse_value(value)


def _is_too_large(body: str) -> bool:
    if len(body) * _MAX_UTF8_BYTES_PER_CHARACTER <= MAX_BODY_BYTES:
        return False
    return len(body) > MAX_BODY_BYTES or len(body.encode("utf-8", "surrogatepass")) > MAX_BODY_BYTES


def _parse_value(value: object) -> ParsedMessage:
    if isinstance(value, list) and value:
        return _parse_records(value, parse_azure_event)
    if not isinstance(value, dict):
        raise UnusableRecordError("unknown_shape", f"a JSON {type(value).__name__} is not a notification")
    records = value.get("Records")
    if isinstance(records, list):
        if not records:
            return ParsedMessage(skipped=(Skipped("empty_records", "Records is empty"),))
        return _parse_records(records, lambda record: (parse_s3_record(record),))
    if is_test_event(value):
        return ParsedMessage(skipped=(Skipped("test_event", f"bucket {quote(value.get('Bucket'))}"),))
    confirmation = parse_confirmation(value)
    if confirmation is not None:
        return ParsedMessage(skipped=(confirmation,))
    return ParsedMessage(events=_parse_single_event(value))


def _parse_single_event(body: Mapping[str, object]) -> tuple[ObjectEvent, ...]:
    if is_eventbridge_event(body):
        return (parse_eventbridge_event(body),)
    if is_gcs_push(body):
        return (parse_gcs_push(body),)
    if is_azure_event(body):
        return parse_azure_event(body)
    if is_kafka_range(body):
        return (parse_kafka_range(body),)
    fields = ", ".join(quote(name) for name in sorted(body)[:8])
    raise UnusableRecordError("unknown_shape", f"unknown notification format with the fields {fields}")


def _parse_records(
    records: Sequence[object], parse_record: Callable[[object], tuple[ObjectEvent, ...]]
) -> ParsedMessage:
    events: list[ObjectEvent] = []
    bad: list[RejectedRecord] = []
    for index, record in enumerate(records):
        try:
            events.extend(parse_record(record))
        except UnusableRecordError as error:
            bad.append(RejectedRecord(index, error.reason, error.detail, _to_raw(record)))
    return ParsedMessage(
        events=tuple(events),
        rejected=None if events else bad[0].reason,
        rejected_records=tuple(bad),
        detail="; ".join(f"record {item.index}: {item.detail}" for item in bad[:5]),
    )


def _to_raw(record: object) -> str:
    try:
        return to_json(record)
    except UnusableRecordError:
        return ""

"""S3 events in EventBridge's format: other field names and a raw key."""

from collections.abc import Mapping

from headwater.sources.notifications.fields import (
    ensure_utf8,
    quote,
    read_etag,
    read_object,
    read_optional_text,
    read_size,
    read_text,
)
from headwater.sources.notifications.json_text import to_json
from headwater.sources.notifications.outcome import UnusableRecordError
from headwater.sources.notifications.times import read_time_or_epoch
from headwater.sources.object_event import EventKind, ObjectEvent, build_order_key

_KINDS: Mapping[str, EventKind] = {
    "Object Created": "created",
    "Object Deleted": "removed",
    "Object Tags Added": "tagged",
    "Object Tags Deleted": "tagged",
    "Object Restore Completed": "restored",
}


def is_eventbridge_event(body: Mapping[str, object]) -> bool:
    """True for an event of any source on an event bus."""
    return "detail-type" in body


def parse_eventbridge_event(body: Mapping[str, object]) -> ObjectEvent:
    """Parse the one event of the body.

    Raises:
        UnusableRecordError: the event is not S3's, not an object's, or a field is unusable.
    """
    detail_type = body.get("detail-type")
    is_s3 = body.get("source") == "aws.s3"
    if not is_s3 or not isinstance(detail_type, str) or not detail_type.startswith("Object "):
        detail = f"an EventBridge event that is not an S3 object event: {quote(detail_type)}"
        raise UnusableRecordError("unknown_shape", detail)
    event_name = ensure_utf8(detail_type, "detail-type")
    s3 = read_object(body, "detail")
    stored = read_object(s3, "object")
    kind = _KINDS.get(event_name, "other")
    sequencer = read_optional_text(stored, "sequencer")
    return ObjectEvent(
        provider="s3",
        bucket=read_text(read_object(s3, "bucket"), "name"),
        key=read_text(stored, "key"),
        version_id=read_optional_text(stored, "version-id"),
        sequencer=sequencer,
        order_key=build_order_key(sequencer),
        kind=kind,
        event_name=event_name,
        event_time=read_time_or_epoch(body, "time"),
        size=None if kind == "removed" else read_size(stored, "size"),
        # eTag: an emulator (moto) spells it as in S3's own records
        etag=None if kind == "removed" else read_etag(stored, "etag") or read_etag(stored, "eTag"),
        raw=to_json(body),
    )

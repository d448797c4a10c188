"""Google Cloud Storage through Pub/Sub: the event is in the attributes, the object in the payload."""

import base64
from collections.abc import Mapping
from datetime import datetime

from headwater.sources.notifications.fields import (
    read_object,
    read_optional_text,
    read_size,
    read_text,
)
from headwater.sources.notifications.json_text import parse_json, to_json
from headwater.sources.notifications.outcome import UnusableRecordError
from headwater.sources.notifications.times import read_time
from headwater.sources.object_event import EventKind, ObjectEvent, build_order_key

_MARKS = ("notificationConfig", "payloadFormat", "bucketId", "objectId")
# In a versioned bucket, an archived object is no longer the live one: it was deleted or overwritten.
_KINDS: Mapping[str, EventKind] = {
    "OBJECT_FINALIZE": "created",
    "OBJECT_DELETE": "removed",
    "OBJECT_ARCHIVE": "removed",
}
_TRANSPORT_ATTRIBUTE = "MessageId"


def is_gcs_pull(attributes: Mapping[str, object]) -> bool:
    """True if a pulled message's attributes hold a storage event."""
    return "eventType" in attributes and any(mark in attributes for mark in _MARKS)


def is_gcs_push(body: Mapping[str, object]) -> bool:
    """True for a Pub/Sub push request whose message holds a storage event."""
    return is_gcs_pull(read_object(read_object(body, "message"), "attributes"))


def parse_gcs_pull(text: str, attributes: Mapping[str, object]) -> ObjectEvent:
    """Parse a pulled message: `text` is the payload, empty with payload format `NONE`.

    Raises:
        UnusableRecordError: the payload is not JSON, or a field is missing or unusable.
    """
    resource: object = None
    if attributes.get("payloadFormat") != "NONE":
        resource = parse_json(text)
        if not isinstance(resource, dict):
            raise UnusableRecordError("unknown_shape", "the payload is not an object resource")
    return _build_event(attributes, resource if isinstance(resource, dict) else {})


def parse_gcs_push(body: Mapping[str, object]) -> ObjectEvent:
    """Parse a push request: attributes and base64 payload under `message`. Raises as `parse_gcs_pull`."""
    message = read_object(body, "message")
    data = message.get("data")
    try:
        text = base64.b64decode(data if isinstance(data, str) else "", validate=True).decode("utf-8")
    except ValueError:  # of base64, of UTF-8, of characters that are not ASCII
        raise UnusableRecordError("malformed_json", "message.data is not base64 of UTF-8 text") from None
    return parse_gcs_pull(text, read_object(message, "attributes"))


def _build_event(attributes: Mapping[str, object], resource: Mapping[str, object]) -> ObjectEvent:
    event_name = read_text(attributes, "eventType")
    kind = _KINDS.get(event_name, "other")
    generation = read_optional_text(attributes, "objectGeneration")
    sequencer = generation if kind in {"created", "removed"} else None
    sent = {name: value for name, value in attributes.items() if name != _TRANSPORT_ATTRIBUTE}
    return ObjectEvent(
        provider="gcs",
        bucket=read_text(attributes, "bucketId"),
        key=read_text(attributes, "objectId"),
        version_id=generation,
        sequencer=sequencer,
        order_key=_build_generation_order_key(sequencer, kind),
        kind=kind,
        event_name=event_name,
        event_time=_refine_time(read_time(attributes, "eventTime"), generation, kind),
        size=None if kind == "removed" else read_size(resource, "size"),
        # As in `object_store`: the store's own etag changes with the metadata, too.
        etag=None if kind == "removed" else generation,
        raw=to_json({"attributes": sent, "resource": resource or None}),
    )


def _refine_time(time: datetime, generation: str | None, kind: EventKind) -> datetime:
    """Return the time of a creation with microseconds, if the sender, such as an emulator, omits them.

    A table without `ordering` takes the newer of two objects with one key, by this time. Generations are the
    microseconds of their creation.
    """
    if kind != "created" or time.microsecond or generation is None or not generation.isdigit():
        return time
    seconds, microseconds = divmod(int(generation), 1_000_000)
    return time.replace(microsecond=microseconds) if seconds == int(time.timestamp()) else time


def _build_generation_order_key(generation: str | None, kind: EventKind) -> str | None:
    """Build an order key from the generation: there is no sequencer, and an overwrite's events share a time.

    Generations are microseconds of equal width. The removal of a generation comes after its creation and
    before the next generation: an overwrite sends both, in any order.
    """
    if generation is None:
        return None
    return build_order_key(generation + "1" if kind == "removed" else generation)

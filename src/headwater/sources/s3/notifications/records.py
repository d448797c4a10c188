"""S3 event records as sent by S3, by compatible stores and by the folder watcher."""

from collections.abc import Mapping
from typing import NamedTuple

from headwater.sources.notifications.fields import (
    decode_form_key,
    quote,
    read_etag,
    read_object,
    read_optional_text,
    read_size,
    read_text,
)
from headwater.sources.notifications.json_text import to_json
from headwater.sources.notifications.outcome import UnusableRecordError
from headwater.sources.notifications.times import read_time
from headwater.sources.object_event import EventKind, ObjectEvent, build_order_key


class _Sender(NamedTuple):
    provider: str
    form_encoded_keys: bool


_SENDERS = {
    "aws:s3": _Sender("s3", form_encoded_keys=True),
    "minio:s3": _Sender("s3", form_encoded_keys=True),
    "rustfs:s3": _Sender("s3", form_encoded_keys=True),
    "ceph:s3": _Sender("s3", form_encoded_keys=False),
    "headwater:local": _Sender("local", form_encoded_keys=False),
}
_KIND_BY_FAMILY: Mapping[str, EventKind] = {
    "ObjectCreated": "created",
    "ObjectRemoved": "removed",
    "LifecycleExpiration": "removed",
    "ObjectTagging": "tagged",
}
# Families whose other members do not change the object under the key.
_KIND_BY_NAME: Mapping[str, EventKind] = {
    "ObjectRestore:Completed": "restored",
    "ObjectLifecycle:Expiration:Current": "removed",
    "ObjectLifecycle:Expiration:NonCurrent": "removed",
    "ObjectLifecycle:Expiration:DeleteMarker": "removed",
}


def is_test_event(body: Mapping[str, object]) -> bool:
    """True for the message that S3 sends to the queue on each change of the notification configuration."""
    return body.get("Event") == "s3:TestEvent"


def parse_s3_record(record: object) -> ObjectEvent:
    """Parse one element of `Records`.

    Raises:
        UnusableRecordError: the record is of another sender or version, or a field is unusable.
    """
    if not isinstance(record, dict):
        raise UnusableRecordError("unknown_shape", "the record is not an object")
    sender = _read_sender(record)
    event_name = read_text(record, "eventName").removeprefix("s3:")
    if not event_name:
        raise UnusableRecordError("missing_field", "eventName is empty")
    event_time = read_time(record, "eventTime")
    s3 = read_object(record, "s3")
    stored = read_object(s3, "object")
    key = read_text(stored, "key")
    kind = _KIND_BY_FAMILY.get(event_name.partition(":")[0]) or _KIND_BY_NAME.get(event_name, "other")
    sequencer = read_optional_text(stored, "sequencer")
    return ObjectEvent(
        provider=sender.provider,
        bucket=_read_bucket(s3),
        key=decode_form_key(key) if sender.form_encoded_keys else key,
        version_id=read_optional_text(stored, "versionId"),
        sequencer=sequencer,
        order_key=build_order_key(sequencer),
        kind=kind,
        event_name=event_name,
        event_time=event_time,
        size=None if kind == "removed" else read_size(stored, "size"),
        etag=None if kind == "removed" else read_etag(stored, "eTag"),
        raw=to_json(record),
    )


def _read_sender(record: Mapping[str, object]) -> _Sender:
    source = record.get("eventSource")
    sender = _SENDERS.get(source) if isinstance(source, str) else None
    if sender is None:
        raise UnusableRecordError("unknown_shape", f"unknown eventSource: {quote(source)}")
    version = record.get("eventVersion")
    # A minor version only adds fields; a new major one may change their meaning.
    if not isinstance(version, str) or version.partition(".")[0] != "2":
        raise UnusableRecordError("unknown_shape", f"eventVersion is not 2.x: {quote(version)}")
    return sender


def _read_bucket(s3: Mapping[str, object]) -> str:
    bucket = read_object(s3, "bucket")
    if bucket.get("name") is None:
        raise UnusableRecordError("missing_field", "the bucket's name is missing")
    return read_text(bucket, "name")

"""Azure Blob Storage through Event Grid, in its own schema or in that of CloudEvents."""

import re
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import unquote

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
from headwater.sources.notifications.times import read_time
from headwater.sources.object_event import EventKind, ObjectEvent, build_order_key

_PREFIX = "Microsoft.Storage."
_DELETED = "Microsoft.Storage.BlobDeleted"
_RENAMED = "Microsoft.Storage.BlobRenamed"
_FOLDER_RENAMED = "Microsoft.Storage.DirectoryRenamed"
_KINDS: Mapping[str, EventKind] = {
    "Microsoft.Storage.BlobCreated": "created",
    _DELETED: "removed",
    "Microsoft.Storage.DirectoryDeleted": "folder",
}
_RENAMED_KINDS: Mapping[str, tuple[EventKind, EventKind]] = {
    _RENAMED: ("removed", "created"),
    _FOLDER_RENAMED: ("folder", "folder"),
}
# These create an empty file; another event follows when its content is complete.
_UNFINISHED = frozenset({"CreateFile", "SftpCreate"})
# The query of a URL that names a snapshot or a version, not the blob.
_OLD_STATE = re.compile(r"[?&](snapshot|versionid)=", re.IGNORECASE)
_SUBJECT = re.compile(r"/blobServices/[^/]+/containers/([^/]+)/blobs/(.+)", re.DOTALL)
# Not urlsplit: it drops newlines and tabs, and the URL needs no unescaping here.
_BLOB_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]+/([^/?#]+)/([^?#]+)(?:[?#].*)?", re.DOTALL)


def is_azure_event(record: object) -> bool:
    """True for a storage event in either schema."""
    return isinstance(record, dict) and _event_type(record).startswith(_PREFIX)


def parse_azure_event(record: object) -> tuple[ObjectEvent, ...]:
    """Parse one event; a rename gives two: one at the old path, then one at the new path.

    Raises:
        UnusableRecordError: not a storage event, or a field is missing or unusable.
    """
    if not isinstance(record, dict) or not is_azure_event(record):
        raise UnusableRecordError("unknown_shape", "not an Azure storage event")
    event_name = ensure_utf8(_event_type(record), "the event type")
    event_time = read_time(record, "eventTime" if record.get("eventType") else "time")
    target = _parse_subject(read_text(record, "subject"))
    data = read_object(record, "data")
    if event_name not in (_RENAMED, _FOLDER_RENAMED):
        return (_build_event(record, event_name, event_time, _find_kind(event_name, data), target),)
    source = _parse_blob_url(read_text(data, "sourceUrl"))
    old, new = _RENAMED_KINDS[event_name]
    return (
        _build_event(record, event_name, event_time, old, source),
        _build_event(record, event_name, event_time, new, target),
    )


def _find_kind(event_name: str, data: Mapping[str, object]) -> EventKind:
    kind = _KINDS.get(event_name, "other")
    if kind == "created" and data.get("api") in _UNFINISHED:
        return "other"
    if kind == "removed" and _OLD_STATE.search(read_optional_text(data, "url") or ""):
        return "other"
    return kind


def _event_type(record: Mapping[str, object]) -> str:
    value = record.get("eventType") or record.get("type")
    return value if isinstance(value, str) else ""


def _parse_subject(subject: str) -> tuple[str, str]:
    match = _SUBJECT.fullmatch(subject)
    if match is None:
        raise UnusableRecordError(
            "missing_field", f"subject does not name a container and a blob: {quote(subject)}"
        )
    return match[1], match[2]


def _parse_blob_url(url: str) -> tuple[str, str]:
    match = _BLOB_URL.fullmatch(url)
    if match is None:
        raise UnusableRecordError(
            "missing_field", f"sourceUrl does not name a container and a blob: {quote(url)}"
        )
    try:
        return match[1], unquote(match[2], errors="strict")
    except UnicodeDecodeError:
        raise UnusableRecordError("bad_encoding", "the escapes in sourceUrl are not UTF-8") from None


def _build_event(
    record: Mapping[str, object],
    event_name: str,
    event_time: datetime,
    kind: EventKind,
    blob: tuple[str, str],
) -> ObjectEvent:
    data = read_object(record, "data")
    sequencer = read_optional_text(data, "sequencer")
    return ObjectEvent(
        provider="azure",
        bucket=blob[0],
        key=blob[1],
        version_id=None,
        sequencer=sequencer,
        order_key=build_order_key(sequencer),
        kind=kind,
        event_name=event_name,
        event_time=event_time,
        size=None if kind == "removed" else read_size(data, "contentLength"),
        etag=None if kind == "removed" else read_etag(data, "eTag") or read_etag(data, "etag"),
        raw=to_json(record),
    )

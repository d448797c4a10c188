"""How often each content of an object was put, according to its events. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.observation import (
    CONTENT_KINDS,
    is_cleaning,
    is_drop,
    is_from_listing,
    is_request,
    is_retract,
    is_sent,
    sort_key,
)
from headwater.ingest.planning.outdated import ContentWrite
from headwater.sources.object_event import name_version, strip_digest


def count_puts(events: Iterable[StoredEvent], writes: Iterable[ContentWrite] = ()) -> dict[str, int]:
    """Count the puts of each content of one object by version, without digest.

    `writes` are those of the table. Each notification is one put. A content that was found by listing or by
    reading proves one more only if none of its notifications arrived: if another content, or a removal,
    separates it from every notification of the same content.
    """
    unique = {stored.event_id: stored for stored in events}
    sent = sorted(filter(_is_notification, unique.values()), key=sort_key)
    found = [*_find_listed(unique.values()), *_find_read(writes, unique)]
    puts: Counter[str] = Counter()
    for version, same in groupby(_order(sent, found), key=itemgetter(0)):
        count = sum(is_sent for _, is_sent in same)
        if version is not None:
            puts[version] += max(1, count)
    return dict(puts)


class _Found(NamedTuple):
    """A content that was under the key at about this time; `version` is None for its absence."""

    version: str | None
    time: datetime


def _order(sent: Sequence[StoredEvent], found: Iterable[_Found]) -> list[tuple[str | None, bool]]:
    """Return the contents in the order of their puts, and whether a notification names each.

    What was found has no place in the store's order; it is before the first later notification.
    """
    times = [stored.event.event_time for stored in sent]

    def find_place(moment: datetime) -> int:
        return next((at for at, time in enumerate(times) if time > moment), len(sent))

    placed = [((at, True, times[at]), _name_content(stored)) for at, stored in enumerate(sent)]
    placed += [((find_place(one.time), False, one.time), one.version) for one in found]
    placed.sort(key=itemgetter(0))
    return [(version, is_sent) for (_, is_sent, _), version in placed]


def _find_listed(events: Iterable[StoredEvent]) -> Iterator[_Found]:
    for stored in events:
        if is_from_listing(stored) and _is_about_content(stored):
            yield _Found(_name_content(stored), stored.event.event_time)


def _find_read(writes: Iterable[ContentWrite], events: Mapping[str, StoredEvent]) -> Iterator[_Found]:
    """Yield the contents that a read found, and no notification named."""
    for write in writes:
        stored = events.get(write.event_id)
        if stored is None:
            continue
        version = strip_digest(stored.event.provider, write.version)
        if not _is_notification(stored) or version != _name_content(stored):
            yield _Found(version, stored.event.event_time)


def _is_notification(stored: StoredEvent) -> bool:
    return is_sent(stored) and _is_about_content(stored)


def _is_about_content(stored: StoredEvent) -> bool:
    event = stored.event
    is_asked = is_request(event) or is_drop(event) or is_retract(event)
    return event.kind in CONTENT_KINDS and not is_cleaning(event) and not is_asked


def _name_content(stored: StoredEvent) -> str | None:
    """Return the version that the event puts; None for a removal."""
    event = stored.event
    if event.kind != "created":
        return None
    return strip_digest(event.provider, name_version(event.version_id, event.etag))

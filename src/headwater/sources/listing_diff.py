"""Compares a listing with known state as a merge of two sorted streams. Pure; constant memory."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, TypeVar

from headwater.errors import SourceError
from headwater.sources.lister import ListedObject
from headwater.sources.object_event import is_same_etag

Verdict = Literal["same", "missing", "changed", "vanished"]


@dataclass(frozen=True, slots=True)
class KnownState:
    """The known object under a key. `event_time` is the time of its creation; None if not recorded.

    `may_be_deleted`: `clean_source` may have deleted it, which is not a difference. `is_unheard`: the
    events do not say what is stored now: a table observed another object after them.
    """

    key: str
    etag: str | None
    version_id: str | None = None
    size: int | None = None
    event_time: datetime | None = None
    may_be_deleted: bool = False
    is_unheard: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """One key, found in both streams or in one of them."""

    key: str
    listed: ListedObject | None
    known: KnownState | None

    @property
    def verdict(self) -> Verdict:
        """Return `missing` if unknown, `changed` if it differs, `vanished` if absent from the listing."""
        if self.known is None:
            return "missing"
        if self.listed is None:
            return "same" if self.known.may_be_deleted else "vanished"
        if self.known.is_unheard:
            return "missing"
        is_same = is_same_state(self.listed, self.known) and not is_put_again(self.listed, self.known)
        return "same" if is_same else "changed"


def is_same_state(listed: ListedObject, known: KnownState) -> bool:
    """Compare by version if both sides have one, else by etag, else by size."""
    if listed.version_id and known.version_id:
        return listed.version_id == known.version_id
    if listed.etag and known.etag:
        return is_same_etag(known.etag, listed.etag)
    return known.size is None or listed.size == known.size


def is_put_again(listed: ListedObject, known: KnownState) -> bool:
    """Whether the same bytes were put after the known state: another content may have been read in between.

    Stores list times to the second, and events are never older than the modification of their object. No two
    puts have one version id.
    """
    if listed.version_id not in (None, "", "null") and listed.version_id == known.version_id:
        return False
    return known.event_time is not None and listed.last_modified.replace(microsecond=0) > known.event_time


def compare_listing(
    listed: Iterable[ListedObject], known: Iterable[KnownState], *, listing: str = "the listing"
) -> Iterator[Comparison]:
    """Yield every key of either stream once, in the order of the keys' UTF-8 bytes, as both streams are.

    A key is compared only after the listing has passed it: a listing that fails half way marks no object
    as absent. Of a key that repeats, the last occurrence counts. Raises `SourceError` if a stream is
    unordered, and whatever the streams raise.
    """
    objects = _iter_ascending(listed, listing)
    states = _iter_ascending(known, "the read of the events table")
    found, state = next(objects, None), next(states, None)
    while found is not None or state is not None:
        # Python compares text by code points, which gives the order of the UTF-8 bytes.
        if state is None or (found is not None and found.key < state.key):
            assert found is not None  # noqa: S101 - one of the two is there
            yield Comparison(found.key, found, None)
            found = next(objects, None)
        elif found is None or state.key < found.key:
            yield Comparison(state.key, None, state)
            state = next(states, None)
        else:
            yield Comparison(found.key, found, state)
            found, state = next(objects, None), next(states, None)


class _Keyed(Protocol):
    @property
    def key(self) -> str: ...


_K = TypeVar("_K", bound=_Keyed)


def _iter_ascending(entries: Iterable[_K], name: str) -> Iterator[_K]:
    last: _K | None = None
    for entry in entries:
        if last is not None and entry.key != last.key:
            if entry.key < last.key:
                raise SourceError(
                    f"{name} is not in key order: {entry.key!r} came after {last.key!r}",
                    hint="S3 directory buckets and some S3-compatible stores list keys in no order: "
                    "use an inventory with `headwater reconcile --inventory`",
                )
            yield last
        last = entry
    if last is not None:
        yield last

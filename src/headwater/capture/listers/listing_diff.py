"""What a listing says against what is known, as a merge of two sorted streams. Pure; memory is flat."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, TypeVar

from headwater.capture.listers.protocol import ListedObject
from headwater.capture.object_event import is_same_etag
from headwater.errors import SourceError

Verdict = Literal["same", "missing", "changed", "vanished"]


@dataclass(frozen=True, slots=True)
class KnownState:
    """What is said to lie under a key. `event_time` is when that came to be; None where nobody noted it.

    `may_be_gone`: `clean_source` may have taken it away, which is nobody's difference. `is_unheard`: a table
    has seen something there, and all that events tell of is older and gone.
    """

    key: str
    etag: str | None
    version_id: str | None = None
    size: int | None = None
    event_time: datetime | None = None
    may_be_gone: bool = False
    is_unheard: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """One key in both streams, or in one of them."""

    key: str
    listed: ListedObject | None
    known: KnownState | None

    @property
    def verdict(self) -> Verdict:
        """`missing` is known to nobody, `changed` is known in another state, `vanished` is not listed."""
        if self.known is None:
            return "missing"
        if self.listed is None:
            return "same" if self.known.may_be_gone else "vanished"
        if self.known.is_unheard:
            return "missing"
        is_same = is_same_state(self.listed, self.known) and not is_put_again(self.listed, self.known)
        return "same" if is_same else "changed"


def is_same_state(listed: ListedObject, known: KnownState) -> bool:
    """By version where both sides tell one, else by etag, else by size."""
    if listed.version_id and known.version_id:
        return listed.version_id == known.version_id
    if listed.etag and known.etag:
        return is_same_etag(known.etag, listed.etag)
    return known.size is None or listed.size == known.size


def is_put_again(listed: ListedObject, known: KnownState) -> bool:
    """Whether the same bytes were put after what is known: what lay there between may have been seen.

    Stores list times to the second, and no event is told before its object is modified.
    """
    return known.event_time is not None and listed.last_modified.replace(microsecond=0) > known.event_time


def compare_listing(
    listed: Iterable[ListedObject], known: Iterable[KnownState], *, listing: str = "the listing"
) -> Iterator[Comparison]:
    """Every key of either stream once, in order. Both come in the order of their keys' UTF-8 bytes.

    A key is compared only when the listing has got past it: one that fails half way makes nothing
    vanish. A key that comes twice in a row counts as it came last. Raises `SourceError` when a stream is
    not in order, and whatever the streams raise.
    """
    objects = _iter_ascending(listed, listing)
    states = _iter_ascending(known, "what the events table knows")
    found, state = next(objects, None), next(states, None)
    while found is not None or state is not None:
        # Python compares text by code points, which is the order of the UTF-8 bytes.
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
                    f"{name} is not in the order of keys: {entry.key!r} came after {last.key!r}",
                    hint="S3 directory buckets list in no order, and so do some S3-compatible stores: "
                    "give an inventory with `headwater reconcile --inventory`",
                )
            yield last
        last = entry
    if last is not None:
        yield last

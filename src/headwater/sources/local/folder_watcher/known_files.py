"""The last announcement of each file, and how a file found now compares with it. Pure.

A listing is authoritative. Its files get an order after all announcements of their keys, however old their
own times are. The files of a folder that is moved away and back keep their change times.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from headwater.sources.listing_diff import KnownState, compare_listing
from headwater.sources.local.lister import ListedFile, name_content
from headwater.sources.object_event import is_same_etag

ORDER_STEP_NS = 1_000
"""A microsecond, the resolution of event times: a later order is a later time, too."""
_MAX_ORDER = 9_214_646_400_000_000_000 - ORDER_STEP_NS
"""The end of 2261, the last year supported for event times."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """The newest event of one key. `etag`, `identity` and `digest` are of the last content, which no longer
    exists unless `is_present`; `identity` and `digest` are empty if no event had them.
    """

    etag: str
    order: int = 0
    is_present: bool = True
    identity: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """The differences between a listing and the known files, in the order of keys."""

    changed: tuple[ListedFile, ...]
    removed: tuple[str, ...]


def choose_order(known: KnownFile | None, moment_ns: int) -> int:
    """Return the order of a key's next event: its time, but always after the known order.

    Clocks run backwards, those of network folders differ, and a rename keeps a file's change time.
    """
    least = 0 if known is None else known.order + ORDER_STEP_NS
    return min(max(moment_ns, least, 0), _MAX_ORDER)


def may_differ(known: KnownFile | None, found: ListedFile) -> bool:
    """Whether the content of the file may differ from the announced one.

    With equal modification time and size, another inode or change time is only a suspicion. Hard links,
    changed permissions, or a replacement file with the same times have the same effect.
    """
    if known is None or not known.is_present or not is_same_etag(known.etag, found.etag):
        return True
    return bool(known.identity) and known.identity != found.identity


def judge_file(known: KnownFile | None, found: ListedFile, digest: str) -> KnownFile:
    """Return the current state of the file; one with `known.order` need not be announced.

    `digest` is of its content, empty if unreadable. The etag of a new event ends in it: modification time
    and size do not identify a content. Events of older releases have etags without it.
    """
    order = choose_order(known, found.changed_ns)
    is_same = (
        known is not None
        and is_same_etag(known.etag, found.etag)
        and (digest == known.digest or not (digest and known.identity))
    )
    if known is not None and known.is_present and is_same:
        # An unreadable file may have changed: it stays suspect until it is readable.
        if known.digest and not digest:
            return known
        return replace(known, identity=found.identity, digest=digest)
    return KnownFile(name_content(found.etag, digest), order, True, found.identity, digest)


class KnownFiles:
    """`KnownFile` by key, with the keys of present files in order. Not thread-safe."""

    def __init__(self, known: Mapping[str, KnownFile]) -> None:
        self._files = dict(known)
        self._present = sorted(key for key, file in self._files.items() if file.is_present)

    def get(self, key: str) -> KnownFile | None:
        """Return the last known file of the key, even if it was deleted."""
        return self._files.get(key)

    def is_present(self, key: str) -> bool:
        """Whether the newest announcement of the key is of an existing file."""
        file = self._files.get(key)
        return file is not None and file.is_present

    def put(self, key: str, file: KnownFile) -> None:
        """Remember the newest announcement of a key."""
        if not self.is_present(key):
            insort(self._present, key)
        self._files[key] = file

    def remove(self, key: str, order: int) -> None:
        """Remember that the removal of a present file was announced."""
        self._files[key] = replace(self._files[key], order=order, is_present=False)
        del self._present[bisect_left(self._present, key)]

    def list_below(self, prefix: str) -> list[str]:
        """List keys of present files that start with `prefix`, in order."""
        return list(self._iter_below(prefix))

    def compare(self, listed: Iterable[ListedFile], prefix: str = "") -> FolderChanges:
        """Return files listed under `prefix` that may have changed, and known keys absent from the listing.

        Raises what the listing raises; then nothing has changed.
        """
        states = (KnownState(key, self._files[key].etag) for key in self._iter_below(prefix))
        changed: list[ListedFile] = []
        removed: list[str] = []
        for compared in compare_listing(listed, states):
            found = compared.listed
            if found is None:
                removed.append(compared.key)
            elif isinstance(found, ListedFile) and may_differ(self._files.get(compared.key), found):
                changed.append(found)
        return FolderChanges(tuple(changed), tuple(removed))

    def _iter_below(self, prefix: str) -> Iterator[str]:
        for at in range(bisect_left(self._present, prefix), len(self._present)):
            if not self._present[at].startswith(prefix):
                return
            yield self._present[at]

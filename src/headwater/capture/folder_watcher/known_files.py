"""What was last announced of each file, and what a file found now means against it. Pure.

A listing is the truth. Its files get an order after everything that was announced under their keys, however
old their own times are: a folder that is moved away and back keeps the change times of its files.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from headwater.capture.listers.listing_diff import KnownState, compare_listing
from headwater.capture.listers.local import ListedFile, name_content
from headwater.capture.object_event import is_same_etag

ORDER_STEP_NS = 1_000
"""A microsecond, the resolution of event times: a later order is a later time, too."""
_MAX_ORDER = 9_214_646_400_000_000_000 - ORDER_STEP_NS
"""The end of 2261, the last year that event times may have."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """The newest event of one key. `etag`, `identity` and `digest` are of the last content, which is gone
    unless `is_present`; `identity` and `digest` are empty where no event told them."""

    etag: str
    order: int = 0
    is_present: bool = True
    identity: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """How a listing differs from what is known, each in the order of keys."""

    changed: tuple[ListedFile, ...]
    removed: tuple[str, ...]


def choose_order(known: KnownFile | None, moment_ns: int) -> int:
    """The order of a key's next event: its moment, but always after what is known.

    Clocks run back, those of network folders differ, and a rename leaves a file's change time as it was.
    """
    least = 0 if known is None else known.order + ORDER_STEP_NS
    return min(max(moment_ns, least, 0), _MAX_ORDER)


def may_differ(known: KnownFile | None, found: ListedFile) -> bool:
    """Whether the file may hold something else than was announced.

    With equal modification time and size, another inode or change time is a suspicion only: so does a new
    hard link, other permissions, or another file with the same times that was put in its place.
    """
    if known is None or not known.is_present or not is_same_etag(known.etag, found.etag):
        return True
    return bool(known.identity) and known.identity != found.identity


def judge_file(known: KnownFile | None, found: ListedFile, digest: str) -> KnownFile:
    """The file as it is now; one with `known.order` need not be announced.

    `digest` is of its content, empty where that cannot be read. The etag of a new event ends in it:
    modification time and size do not identify a content. Events of older releases have etags without it.
    """
    order = choose_order(known, found.changed_ns)
    is_same = (
        known is not None
        and is_same_etag(known.etag, found.etag)
        and (digest == known.digest or not (digest and known.identity))
    )
    if known is not None and known.is_present and is_same:
        # What cannot be read now may have changed: it stays suspicious until it can.
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
        """What is known of the key, were it that its file is gone."""
        return self._files.get(key)

    def is_present(self, key: str) -> bool:
        """Whether the file is there as far as was announced."""
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
        """Keys of present files that start with `prefix`, in order."""
        return list(self._iter_below(prefix))

    def compare(self, listed: Iterable[ListedFile], prefix: str = "") -> FolderChanges:
        """Files of a listing of `prefix` that may be news, and keys that it does not show.

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

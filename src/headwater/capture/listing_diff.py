"""What a listing says against what is known: created or changed, and removed. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headwater.capture.listers.protocol import ListedObject


@dataclass(frozen=True, slots=True)
class ListingChanges:
    """`changed`: objects that are new or have another etag, in the listing's order. `removed`: keys."""

    changed: tuple[ListedObject, ...]
    removed: tuple[str, ...]


def diff_listing(listed: Iterable[ListedObject], known: Mapping[str, str]) -> ListingChanges:
    """Compare a listing with the etags known by key. An object listed twice counts as listed last."""
    newest = {found.key: found for found in listed}
    return ListingChanges(
        changed=tuple(found for found in newest.values() if known.get(found.key) != found.etag),
        removed=tuple(sorted(known.keys() - newest.keys())),
    )

"""Missing, extra and wrong points of an index, as a merge of two streams by key ranges. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby

from headwater.errors import SearchError
from headwater.rag.vector_stores.protocol import PointState

_PREFIX_CHARACTERS = 2
"""Hex characters of a chunk id that form a range: 256 ranges."""


@dataclass(slots=True)
class Divergence:
    """Chunk ids by required action; `rows` are the keys of their rows."""

    missing: list[str] = field(default_factory=list)
    changed_text: list[str] = field(default_factory=list)
    changed_fields: list[str] = field(default_factory=list)
    surplus: list[str] = field(default_factory=list)
    rows: set[str] = field(default_factory=set)
    ranges: int = 0
    differing_ranges: int = 0


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The states whose ids start with `prefix`, and one digest of all of them."""

    prefix: str
    digest: bytes
    states: tuple[PointState, ...]


def compare_states(wanted: Iterable[PointState], found: Iterable[PointState]) -> Divergence:
    """Return the differences. Both streams are ordered by chunk id; one range of each is in memory at a time.

    Raises `SearchError` for an unordered stream.
    """
    divergence = Divergence()
    left, right = iter_ranges(wanted, "the chunks"), iter_ranges(found, "the index")
    ours, theirs = next(left, None), next(right, None)
    while ours is not None or theirs is not None:
        prefix = min(one.prefix for one in (ours, theirs) if one is not None)
        own = ours if ours is not None and ours.prefix == prefix else None
        other = theirs if theirs is not None and theirs.prefix == prefix else None
        _compare_range(own, other, divergence)
        ours = next(left, None) if own else ours
        theirs = next(right, None) if other else theirs
    return divergence


def digest_states(states: Iterable[PointState]) -> str:
    """Return one digest of all states, which are ordered by chunk id."""
    total = blake2b(digest_size=16)
    for part in iter_ranges(states, "the index"):
        total.update(part.digest)
    return total.hexdigest()


def iter_ranges(states: Iterable[PointState], name: str) -> Iterator[KeyRange]:
    """Yield the states by key range. Raises `SearchError` when they are unordered."""
    last = ""
    for prefix, group in groupby(states, key=lambda state: state.chunk_id[:_PREFIX_CHARACTERS]):
        digest = blake2b(digest_size=16)
        members = tuple(group)
        for state in members:
            if state.chunk_id <= last:
                raise SearchError(
                    f"{name} does not list chunks in order: {state.chunk_id} follows {last}",
                    hint="this is a bug in the store or its adapter; please report it",
                )
            last = state.chunk_id
            digest.update("\n".join((last, state.row_key, state.content_hash, state.fields_hash)).encode())
        yield KeyRange(prefix, digest.digest(), members)


def _compare_range(ours: KeyRange | None, theirs: KeyRange | None, divergence: Divergence) -> None:
    divergence.ranges += 1
    if ours is not None and theirs is not None and ours.digest == theirs.digest:
        return
    divergence.differing_ranges += 1
    found = {state.chunk_id: state for state in theirs.states} if theirs else {}
    for state in ours.states if ours else ():
        other = found.pop(state.chunk_id, None)
        if other == state:
            continue
        if other is None:
            divergence.missing.append(state.chunk_id)
        elif other.content_hash != state.content_hash:
            divergence.changed_text.append(state.chunk_id)
        else:
            divergence.changed_fields.append(state.chunk_id)
        divergence.rows.add(state.row_key)
    divergence.surplus += found
    divergence.rows |= {state.row_key for state in found.values()}

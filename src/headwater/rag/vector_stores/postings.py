"""In-memory inverted lists of one kind of sparse vectors."""

import numpy as np
import numpy.typing as npt

from headwater.rag.lexical.sparse_vector import SparseVector

_Posting = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]
_DECIMALS = 6


class Postings:
    """Not thread-safe: the index that owns it has the lock."""

    def __init__(self) -> None:
        self._vectors: dict[int, SparseVector] = {}
        self._terms: dict[int, dict[int, float]] = {}
        # As arrays, built on first use after a write.
        self._arrays: dict[int, _Posting] = {}

    def add(self, slot: int, vector: SparseVector) -> None:
        """Add the vector of a new slot."""
        self._vectors[slot] = vector
        for term, value in zip(vector.indices, vector.values, strict=True):
            self._terms.setdefault(term, {})[slot] = value
            self._arrays.pop(term, None)

    def remove(self, slot: int) -> None:
        """Remove a slot's vector, if it has one."""
        vector = self._vectors.pop(slot, None)
        for term in vector.indices if vector is not None else ():
            del self._terms[term][slot]
            if not self._terms[term]:
                del self._terms[term]
            self._arrays.pop(term, None)

    def find(self, slot: int) -> SparseVector | None:
        """Return the vector of a slot."""
        return self._vectors.get(slot)

    def score(self, query: SparseVector, size: int, count: int) -> _Posting:
        """Return slots that share a term with the query, and their scores.

        Slots are below `size`; `count` is the number of all points, for the IDF.
        """
        scores = np.zeros(size, dtype=np.float32)
        touched = np.zeros(size, dtype=np.bool_)
        for term, weight in zip(query.indices, query.values, strict=True):
            if term not in self._terms:
                continue
            slots, values = self._load(term)
            idf = np.log1p((count - len(slots) + 0.5) / (len(slots) + 0.5))
            scores[slots] += np.float32(weight * idf) * values
            touched[slots] = True
        found = np.flatnonzero(touched)
        return found, np.round(scores[found], _DECIMALS)

    def _load(self, term: int) -> _Posting:
        arrays = self._arrays.get(term)
        if arrays is None:
            posting = self._terms[term]
            size = len(posting)
            arrays = (
                np.fromiter(posting.keys(), dtype=np.int64, count=size),
                np.fromiter(posting.values(), dtype=np.float32, count=size),
            )
            self._arrays[term] = arrays
        return arrays

"""Hashes words and their trigrams into a vector: reproducible, without semantics. For tests."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from headwater.config.search.index import EmbedderConfig
from headwater.rag.embedding.protocol import Vectors
from headwater.rag.embedding.vectors import build_name, embed_known, prepare

DIMENSIONS = 256
# A whole word is more significant than a trigram.
_WORD_WEIGHT = 2.0


class HashingEmbedder:
    """An embedder without a length limit and without a model to load."""

    def __init__(self, config: EmbedderConfig) -> None:
        self._config = config
        self._dimensions = config.dimensions or DIMENSIONS

    @property
    def name(self) -> str:
        """Return a name that covers everything that changes the vectors."""
        return build_name("hashing", "words-trigrams", self._dimensions, self._config)

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""
        return self._dimensions

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of shape `(len(texts), dimensions)`."""
        return embed_known(prepare(texts, self._config.passage_prefix), self._dimensions, self._embed)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of shape `(len(texts), dimensions)`."""
        return embed_known(prepare(texts, self._config.query_prefix), self._dimensions, self._embed)

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Return 0: there is no limit."""
        del texts
        return 0

    def _embed(self, texts: list[str]) -> npt.NDArray[np.float32]:
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.casefold().split():
                self._add(vectors[row], word, _WORD_WEIGHT)
                for start in range(len(word) - 2):
                    self._add(vectors[row], word[start : start + 3], 1.0)
        return vectors

    def _add(self, vector: npt.NDArray[np.float32], feature: str, weight: float) -> None:
        digest = blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        number = int.from_bytes(digest, "little")
        vector[(number >> 1) % self._dimensions] += weight if number & 1 else -weight

"""The interface of embedders: models that convert text to vectors."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Embeds texts. Thread-safe. Raises `SearchError` when the model cannot be loaded or called.

    Vectors have length 1 (all zeros for a text without any known word), so cosine is the dot product.
    """

    @property
    def name(self) -> str:
        """Return a name that covers everything that changes the vectors (model, dimensions, prefixes,
        normaliser)."""
        ...

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of shape `(len(texts), dimensions)`."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of shape `(len(texts), dimensions)`."""
        ...

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Count the texts that exceed the model's limit."""
        ...

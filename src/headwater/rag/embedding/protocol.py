"""What headwater asks of a model that turns text into vectors."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Thread-safe. Raises `SearchError` when the model cannot be loaded or asked.

    Vectors have length 1 (a text without any known word: all zeros), so cosine is the dot product.
    """

    @property
    def name(self) -> str:
        """Model and everything else that changes its vectors (dimensions, prefixes, normaliser version)."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """`(len(texts), dimensions)`."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """`(len(texts), dimensions)`."""
        ...

    def count_truncated(self, texts: Sequence[str]) -> int:
        """How many of the texts are longer than the model reads."""
        ...

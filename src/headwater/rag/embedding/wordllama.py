"""WordLlama: static word vectors whose weights ship with the package. No download, no torch."""

import logging
import threading
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.config.search.index import EmbedderConfig
from headwater.errors import SearchError
from headwater.rag.embedding.protocol import Vectors
from headwater.rag.embedding.vectors import build_name, embed_known, iter_batches, prepare

MODEL = "l2_supercat"
DIMENSIONS = 256
# The model has no limit, but memory is limited: a character takes up to 1 kB.
MAX_CHARACTERS = 8_192
_BATCH_CHARACTERS = 262_144


class WordLlamaEmbedder:
    """Loads the model once, when it embeds the first text."""

    def __init__(self, config: EmbedderConfig) -> None:
        if config.model not in (None, MODEL):
            raise SearchError(
                f"search.embedder.model: the wordllama package does not contain {config.model!r}",
                hint=f"omit `model`, or set it to {MODEL}",
            )
        self._config = config
        self._dimensions = min(config.dimensions or DIMENSIONS, DIMENSIONS)
        self._lock = threading.Lock()
        self._model: Any = None

    @property
    def name(self) -> str:
        """Return a name that covers everything that changes the vectors."""
        return build_name("wordllama", MODEL, self._dimensions, self._config)

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""
        return self._dimensions

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of shape `(len(texts), dimensions)`."""
        return self._embed(texts, self._config.passage_prefix)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of shape `(len(texts), dimensions)`."""
        return self._embed(texts, self._config.query_prefix)

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Count the texts of more than 8,192 characters."""
        return sum(len(text) > MAX_CHARACTERS for text in prepare(texts, self._config.passage_prefix))

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        prepared = [text[:MAX_CHARACTERS] for text in prepare(texts, prefix)]
        return embed_known(prepared, self._dimensions, self._embed_all)

    def _embed_all(self, texts: list[str]) -> npt.NDArray[np.float32]:
        model = self._load()
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for batch in iter_batches(texts, self._config.batch_size, _BATCH_CHARACTERS):
            vectors[batch] = model.embed([texts[number] for number in batch], batch_size=len(batch))
        return vectors

    def _load(self) -> Any:
        with self._lock:
            if self._model is None:
                wordllama = _import_silently()
                folder = Path(wordllama.__file__).parent
                try:
                    # The package finds its own weights only with an explicit path.
                    self._model = wordllama.WordLlama.load(
                        config=MODEL, cache_dir=folder, dim=DIMENSIONS, disable_download=True
                    )
                except (OSError, ValueError) as error:
                    raise SearchError(
                        f"cannot read the wordllama weights in {folder}: {error}",
                        hint="reinstall it: pip install --force-reinstall wordllama",
                    ) from error
            return self._model


def _import_silently() -> Any:
    """Import the package. It would have the program's root logger print every INFO line to stderr."""
    root, handler = logging.getLogger(), logging.NullHandler()
    # `basicConfig` changes nothing if there is a handler.
    root.addHandler(handler)
    try:
        return import_module("wordllama")
    finally:
        root.removeHandler(handler)

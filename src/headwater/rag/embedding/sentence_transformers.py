"""Models of the sentence-transformers library, by hub name or folder. Requires an extra with torch."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.config.extras.packages import importing_extra
from headwater.config.search.index import EmbedderConfig
from headwater.errors import SearchError
from headwater.rag.embedding.protocol import Vectors
from headwater.rag.embedding.vectors import build_name, embed_known, prepare

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"


class SentenceTransformersEmbedder:
    """Loads the model on construction. Runs on the CPU."""

    def __init__(self, config: EmbedderConfig) -> None:
        self._config = config
        self._model_name = config.model or DEFAULT_MODEL
        # The library's tokenizers change their settings on each call.
        self._lock = threading.Lock()
        self._model = _load(self._model_name)
        own = int(self._model.get_sentence_embedding_dimension())
        self._dimensions = min(config.dimensions or own, own)

    @property
    def name(self) -> str:
        """Return a name that covers everything that changes the vectors."""
        return build_name("sentence_transformers", self._model_name, self._dimensions, self._config)

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
        """Count the texts that exceed the model's token limit."""
        limit = self._model.max_seq_length
        if limit is None:
            return 0
        prepared = [text for text in prepare(texts, self._config.passage_prefix) if text]
        with self._lock:
            ids = self._model.tokenizer(prepared, truncation=False)["input_ids"] if prepared else []
        return sum(len(one) > limit for one in ids)

    def _embed(self, texts: list[str]) -> npt.NDArray[np.float32]:
        with self._lock:
            vectors: npt.NDArray[np.float32] = self._model.encode(
                texts, batch_size=self._config.batch_size, show_progress_bar=False, convert_to_numpy=True
            )
        return vectors


def _load(model: str) -> Any:
    with importing_extra("sentence-transformers", "search.embedder.type: sentence_transformers"):
        from sentence_transformers import SentenceTransformer
    try:
        return SentenceTransformer(model, device="cpu")
    except (OSError, ValueError, RuntimeError) as error:
        raise SearchError(
            f"search.embedder.model: cannot load {model!r}: {error}",
            hint="specify a model of the Hugging Face hub, or the folder of a downloaded model",
        ) from error

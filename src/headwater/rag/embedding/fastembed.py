"""Models of the fastembed library (ONNX), by hub name or folder. Requires an extra."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.config.extras.packages import importing_extra
from headwater.config.search.index import EmbedderConfig
from headwater.errors import SearchError
from headwater.rag.embedding.protocol import Vectors
from headwater.rag.embedding.vectors import build_name, embed_known, prepare

DEFAULT_MODEL = "BAAI/bge-small-en-v1.5"


class FastEmbedEmbedder:
    """Loads the model on construction. A folder must have its model's name: `.../bge-small-en-v1.5`."""

    def __init__(self, config: EmbedderConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._model, self._model_name, own = _load(config.model or DEFAULT_MODEL)
        self._dimensions = min(config.dimensions or own, own)

    @property
    def name(self) -> str:
        """Return a name that covers everything that changes the vectors."""
        return build_name("fastembed", self._model_name, self._dimensions, self._config)

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
        prepared = [text for text in prepare(texts, self._config.passage_prefix) if text]
        with self._lock:
            encoded = self._model.model.tokenizer.encode_batch(prepared)
        # A truncated text overflows into further encodings.
        return sum(bool(one.overflowing) for one in encoded)

    def _embed(self, texts: list[str]) -> npt.NDArray[np.float32]:
        with self._lock:
            return np.stack(list(self._model.embed(texts, batch_size=self._config.batch_size)))


def _load(model: str) -> tuple[Any, str, int]:
    """Load the model; return it with its name and dimensions."""
    with importing_extra("fastembed", "search.embedder.type: fastembed"):
        from fastembed import TextEmbedding
    known = {str(one["model"]): int(one["dim"]) for one in TextEmbedding.list_supported_models()}
    folder = Path(model) if Path(model).is_dir() else None
    matching = [name for name in known if model in (name, name.split("/")[-1]) or _is_of(folder, name)]
    if not matching:
        raise SearchError(
            f"search.embedder.model: fastembed does not support {model!r}",
            hint="use one of " + ", ".join(sorted(known)) + "; or a folder with the name of one of them",
        )
    options = {} if folder is None else {"specific_model_path": str(folder)}
    try:
        return TextEmbedding(model_name=matching[0], **options), matching[0], known[matching[0]]
    except (OSError, ValueError, RuntimeError) as error:
        raise SearchError(
            f"search.embedder.model: cannot load {model!r}: {error}",
            hint="without access to the hub, specify the folder of a downloaded model",
        ) from error


def _is_of(folder: Path | None, name: str) -> bool:
    return folder is not None and folder.name == name.rsplit("/", maxsplit=1)[-1]

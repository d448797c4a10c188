"""Models behind any endpoint with OpenAI's embeddings API."""

import threading
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from headwater.config.search.index import EmbedderConfig
from headwater.errors import ConfigError, EmbedderUnavailableError, SearchError
from headwater.rag.embedding.protocol import Vectors
from headwater.rag.embedding.vectors import build_name, embed_known, prepare

KEY_VARIABLE = "HEADWATER_EMBEDDING_API_KEY"
# The SDK retries after 408, 409, 429, 5xx and broken connections, with backoff.
MAX_RETRIES = 3
# Endpoints reject texts over the model's limit without publishing it: 8,191 tokens hold at least this.
MAX_CHARACTERS = 8_191


class OpenAIEmbedder:
    """Calls the endpoint. Unless `dimensions` is set, it requests a vector first to learn the length."""

    def __init__(self, config: EmbedderConfig, environ: Mapping[str, str]) -> None:
        missing = [name for name in ("endpoint", "model") if not getattr(config, name)]
        if missing:
            raise ConfigError(
                "\n".join(f"search.embedder.{name}: required for `type: openai`" for name in missing),
                hint="for example endpoint: https://api.openai.com/v1, model: text-embedding-3-small",
            )
        from openai import OpenAI

        self._config = config
        self._model = str(config.model)
        self._client = OpenAI(
            base_url=config.endpoint,
            # Local endpoints need no key, but the SDK does.
            api_key=environ.get(KEY_VARIABLE) or "none",
            timeout=config.timeout,
            max_retries=MAX_RETRIES,
        )
        self._lock = threading.Lock()
        self._dimensions = config.dimensions

    @property
    def name(self) -> str:
        """Return a name that covers everything that changes the vectors."""
        return build_name("openai", self._model, self.dimensions, self._config)

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""
        with self._lock:
            if self._dimensions is None:
                self._dimensions = self._ask(["length"]).shape[1]
            return self._dimensions

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of shape `(len(texts), dimensions)`."""
        return self._embed_prepared(texts, self._config.passage_prefix)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of shape `(len(texts), dimensions)`."""
        return self._embed_prepared(texts, self._config.query_prefix)

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Count the texts of more than 8,191 characters."""
        return sum(len(text) > MAX_CHARACTERS for text in prepare(texts, self._config.passage_prefix))

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _embed_prepared(self, texts: Sequence[str], prefix: str) -> Vectors:
        prepared = [text[:MAX_CHARACTERS] for text in prepare(texts, prefix)]
        return embed_known(prepared, self.dimensions, self._embed)

    def _embed(self, texts: list[str]) -> npt.NDArray[np.float32]:
        size = self._config.batch_size
        return np.concatenate(
            [self._ask(texts[start : start + size]) for start in range(0, len(texts), size)]
        )

    def _ask(self, texts: list[str]) -> npt.NDArray[np.float32]:
        import openai

        try:
            answer = self._client.embeddings.create(model=self._model, input=texts, encoding_format="float")
        except openai.APIStatusError as error:
            raise self._refused(error.status_code) from error
        except openai.APIConnectionError as error:
            raise EmbedderUnavailableError(
                f"no response from {self._config.endpoint}: {error}",
                hint="check search.embedder.endpoint, search.embedder.timeout and the network",
            ) from error
        vectors = [one.embedding for one in sorted(answer.data, key=lambda one: one.index)]
        length = min(map(len, vectors), default=0)
        if len(vectors) != len(texts) or length < (self._config.dimensions or 1):
            raise SearchError(
                f"{self._config.endpoint} returned {len(vectors)} vectors of length {length} "
                f"for {len(texts)} texts",
                hint="check search.embedder.model and search.embedder.dimensions",
            )
        return np.asarray(vectors, dtype=np.float32)

    def _refused(self, status: int) -> SearchError:
        # Omit the response text: some endpoints repeat the key in it.
        message = f"{self._config.endpoint} returned HTTP {status} for model {self._model!r}"
        if status in (401, 403):
            return SearchError(message, hint=f"set {KEY_VARIABLE} to a key with access to the model")
        if status in (408, 409, 429) or status >= 500:
            return EmbedderUnavailableError(message, hint="retry later, or reduce search.embedder.batch_size")
        return SearchError(message, hint="check search.embedder.endpoint and search.embedder.model")

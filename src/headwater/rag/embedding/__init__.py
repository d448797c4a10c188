"""Embedders by their configured type.

To add one, add a file here, an entry in the table, and its name in `config`.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from headwater.config.environment import read_environment
from headwater.rag.embedding.protocol import Embedder, Vectors

if TYPE_CHECKING:
    from headwater.config.search.index import EmbedderConfig

__all__ = ["Embedder", "Vectors", "build_embedder"]

_Build = Callable[["EmbedderConfig", Mapping[str, str]], Embedder]


def build_embedder(config: "EmbedderConfig", environ: Mapping[str, str] | None = None) -> Embedder:
    """Build the configured embedder; imports only its own libraries.

    Raises `MissingExtraError` when a library is missing, `ConfigError` when the section is incomplete,
    `SearchError` when the model cannot be loaded.
    """
    return _EMBEDDERS[config.type](config, read_environment() if environ is None else environ)


def _build_wordllama(config: "EmbedderConfig", _: Mapping[str, str]) -> Embedder:
    from headwater.rag.embedding.wordllama import WordLlamaEmbedder

    return WordLlamaEmbedder(config)


def _build_hashing(config: "EmbedderConfig", _: Mapping[str, str]) -> Embedder:
    from headwater.rag.embedding.hashing import HashingEmbedder

    return HashingEmbedder(config)


def _build_sentence_transformers(config: "EmbedderConfig", _: Mapping[str, str]) -> Embedder:
    from headwater.rag.embedding.sentence_transformers import SentenceTransformersEmbedder

    return SentenceTransformersEmbedder(config)


def _build_fastembed(config: "EmbedderConfig", _: Mapping[str, str]) -> Embedder:
    from headwater.rag.embedding.fastembed import FastEmbedEmbedder

    return FastEmbedEmbedder(config)


def _build_openai(config: "EmbedderConfig", environ: Mapping[str, str]) -> Embedder:
    from headwater.rag.embedding.openai import OpenAIEmbedder

    return OpenAIEmbedder(config, environ)


_EMBEDDERS: Mapping[str, _Build] = {
    "wordllama": _build_wordllama,
    "hashing": _build_hashing,
    "sentence_transformers": _build_sentence_transformers,
    "fastembed": _build_fastembed,
    "openai": _build_openai,
}

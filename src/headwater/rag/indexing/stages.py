"""Executor stages: split rows into chunk texts, and embed the texts, one Arrow batch at a time."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.config.search.index import ChunkConfig, EmbedderConfig
from headwater.rag.chunk import (
    build_chunk_id,
    hash_content,
    hash_fields,
    hash_terms,
    split_document,
    write_fields,
)
from headwater.rag.chunking import Chunker, build_chunker
from headwater.rag.documents import DocumentRules, build_document
from headwater.rag.embedding import build_embedder
from headwater.rag.embedding.protocol import Embedder
from headwater.rag.indexing.columns import DOT

SPLIT_COLUMNS: Mapping[str, pa.DataType] = {
    "row_key": pa.string(),
    "source_key": pa.string(),
    "commit": pa.string(),
    "instant": pa.string(),
    "chunk_id": pa.string(),
    "chunk_number": pa.int32(),
    "text": pa.string(),
    "content_hash": pa.string(),
    "terms_hash": pa.string(),
    "fields": pa.string(),
    "fields_hash": pa.string(),
    "tenant": pa.string(),
}
_SPLIT_SCHEMA = pa.schema(list(SPLIT_COLUMNS.items()))


@dataclass(frozen=True)
class SplitRows:
    """Splits rows with `row_key`, `source_key`, `commit` and `is_wanted` into chunks without vectors.

    A row without chunks gives a row with only its `source_key`. `completed` maps commit instants to
    completion times. `count_empty` is an accumulator of rows without text.
    """

    rules: DocumentRules
    chunking: ChunkConfig
    model: str
    completed: Mapping[str, str]
    count_empty: Any = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one batch per input batch."""
        for batch in batches:
            rows = batch.to_pylist()
            yield self.split({name.replace(DOT, "."): value for name, value in row.items()} for row in rows)

    def split(self, rows: Iterable[Mapping[str, Any]]) -> pa.RecordBatch:
        """Split rows, whose nested columns are named by their paths."""
        chunker = load_chunker(self.chunking.model_dump_json())
        columns: dict[str, list[Any]] = {name: [] for name in SPLIT_COLUMNS}
        empty = 0
        for row in rows:
            is_there = row["is_wanted"] and self._split(row, chunker, columns)
            empty += bool(row["is_wanted"]) and not is_there
            if not is_there:
                for name, column in columns.items():
                    column.append(row["source_key"] if name == "source_key" else None)
        if empty and self.count_empty is not None:
            self.count_empty.add(empty)
        return pa.RecordBatch.from_pydict(columns, schema=_SPLIT_SCHEMA)

    def _split(self, row: Mapping[str, Any], chunker: Chunker, columns: dict[str, list[Any]]) -> bool:
        """Add the chunks of one row; False when it has no text."""
        row_key = row["row_key"]
        document = build_document(row_key, row, self.rules)
        if document is None:
            return False
        fields = write_fields(document.fields)
        fields_hash = hash_fields(fields, document.tenant)
        instant = self.completed.get(row["commit"], row["commit"])
        for number, text in enumerate(split_document(document, chunker)):
            content_hash = hash_content(self.model, text)
            values = (
                row_key,
                row["source_key"],
                row["commit"],
                instant,
                build_chunk_id(row_key, number),
                number,
                text,
                content_hash,
                hash_terms(content_hash, document.fields),
                fields,
                fields_hash,
                document.tenant,
            )
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
        return True


@dataclass(frozen=True)
class EmbedTexts:
    """Adds `vector` to batches with a `text` column. One model per worker process."""

    embedder: EmbedderConfig

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one batch per input batch."""
        embedder = load_embedder(self.embedder.model_dump_json())
        for batch in batches:
            texts = batch.column("text").to_pylist()
            vectors = embed_in_batches(embedder, texts, self.embedder.batch_size)
            columns = [*batch.columns, to_arrow(vectors)]
            yield pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, "vector"])


def embed_in_batches(embedder: Embedder, texts: list[str], size: int) -> "np.ndarray[Any, Any]":
    """Return vectors of shape `(len(texts), dimensions)`, embedding `size` texts per call."""
    found = np.empty((len(texts), embedder.dimensions), dtype=np.float32)
    for start in range(0, len(texts), size):
        found[start : start + size] = embedder.embed_passages(texts[start : start + size])
    return found


def to_arrow(vectors: "np.ndarray[Any, Any]") -> pa.Array:
    """Convert a matrix to an array of lists."""
    count, dimensions = vectors.shape
    offsets = pa.array(np.arange(count + 1, dtype=np.int32) * np.int32(dimensions))
    return pa.ListArray.from_arrays(offsets, pa.array(vectors.reshape(-1), type=pa.float32()))


@lru_cache(maxsize=2)
def load_embedder(config: str) -> Embedder:
    """Return the embedder of a JSON configuration; cached per process."""
    return build_embedder(EmbedderConfig.model_validate(json.loads(config)))


@lru_cache(maxsize=2)
def load_chunker(config: str) -> Chunker:
    """Return the chunker of a JSON configuration; cached per process."""
    return build_chunker(ChunkConfig.model_validate(json.loads(config)))

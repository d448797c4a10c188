"""A chunk: one piece of a row's text with its vector, as the chunks table keeps it. Pure."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from headwater.rag.chunking.protocol import Chunker
from headwater.rag.documents import Document
from headwater.rag.field_value import FieldValue
from headwater.rag.lexical.sparse import list_keywords
from headwater.rag.vector_stores.protocol import PointState

_NAMESPACE = uuid.UUID("6f1c9c0e-6d0e-5d0a-9a4f-2d2f4f4b7c11")
_HASH_BYTES = 16
# `json.dumps` creates an encoder on each call.
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
MAX_CHUNKS_A_ROW = 1_000


@dataclass(frozen=True, slots=True)
class Chunk:
    """One row of the chunks table.

    `fields` is JSON. `source_key` is the data table's own key of the row. `instant` is the commit that wrote
    the row's current state. `content_revision` is the indexing run that last changed text, vector or words of
    the fields, which determine the score. A deleted chunk has neither text nor vector.
    """

    chunk_id: str
    row_key: str
    chunk_number: int
    text: str
    content_hash: str
    fields: str
    fields_hash: str
    tenant: str | None
    vector: Sequence[float]
    source_key: str
    instant: str
    content_revision: int
    deleted: bool = False

    @property
    def state(self) -> PointState:
        """Return the state that is compared with an index."""
        return PointState(self.chunk_id, self.row_key, self.content_hash, self.fields_hash)

    def load_fields(self) -> dict[str, FieldValue]:
        """Return the fields by name."""
        found: dict[str, FieldValue] = json.loads(self.fields)
        return found


def build_chunk_id(row_key: str, number: int) -> str:
    """Return an id that is the same for the same row and number in every index version."""
    return str(uuid.uuid5(_NAMESPACE, f"{row_key}\n{number}"))


def hash_content(model: str, text: str) -> str:
    """Hash the model's name and the embedded text: equal hashes mean equal vectors.

    The model's name also covers its normalisation.
    """
    return _hash(f"{model}\x00{text}")


def hash_terms(content_hash: str, fields: Mapping[str, FieldValue]) -> str:
    """Hash everything that determines a chunk's vectors, including sparse ones."""
    return _hash("\x00".join((content_hash, *list_keywords(fields))))


def hash_fields(fields: str, tenant: str | None) -> str:
    """Hash everything that a search can return or filter on, except the text."""
    return _hash(f"{tenant}\x00{fields}")


def write_fields(fields: Mapping[str, FieldValue]) -> str:
    """Serialise the fields as JSON; equal fields give equal text."""
    return _ENCODER.encode(fields)


def split_document(document: Document, chunker: Chunker) -> list[str]:
    """Return the texts of a document's chunks; each starts with the head, as its first line."""
    head = document.head
    pieces = chunker.split(document.body)[:MAX_CHUNKS_A_ROW] if document.body else []
    if not head:
        return pieces
    return [f"{head}\n{piece}" for piece in pieces] or [head]


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).hexdigest()

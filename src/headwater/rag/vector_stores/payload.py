"""A point in Qdrant, server or embedded: its payload and field paths. Pure."""

import json
import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from headwater.rag.lexical.sparse_vector import SparseVector
from headwater.rag.passage import Passage
from headwater.rag.vector_stores.protocol import Checkpoint, Point, PointState

TENANT = "tenant"
CHECKPOINT_ID = str(UUID(int=0))
"""A point without vectors: no search finds it."""

STATE_KEYS = ["row_key", "content_hash", "fields_hash"]
PASSAGE_KEYS = ["row_key", "chunk_number", "text", "fields", "instant", "stems"]
_PLAIN_NAME = re.compile(r"\w+", re.ASCII)

Payload = dict[str, Any]


def build_payload(point: Point) -> Payload:
    """Return everything of a point except its vectors."""
    return {**build_fields_payload(point), "text": point.text, "stems": point.stems}


def build_fields_payload(point: Point) -> Payload:
    """Return the payload that `set_fields` writes."""
    # Embedded Qdrant 0.9 treats a boolean in a filter as a number, so booleans are also stored as words.
    flags = {name: _to_word(value) for name, value in point.fields.items() if isinstance(value, bool)}
    return {
        "row_key": point.row_key,
        "chunk_number": point.chunk_number,
        "content_hash": point.content_hash,
        "fields_hash": point.fields_hash,
        "instant": point.instant,
        "fields": {name: value for name, value in point.fields.items() if value is not None},
        "flags": flags,
        "tenant": point.tenant,
    }


def parse_passage(point_id: object, payload: Payload) -> Passage:
    """Parse a point into a search result."""
    return Passage(
        chunk_id=str(point_id),
        row_key=payload["row_key"],
        chunk_number=payload["chunk_number"],
        text=payload["text"],
        fields=payload["fields"],
        instant=payload["instant"],
        # An index of an earlier version has none.
        stems=payload.get("stems", ""),
    )


def parse_state(point_id: object, payload: Payload) -> PointState:
    """Parse the state that is compared."""
    return PointState(str(point_id), *(payload[key] for key in STATE_KEYS))


def parse_point(
    point_id: object, payload: Payload, dense: list[float], sparse: Mapping[str, SparseVector]
) -> Point:
    """Parse the output of `build_payload`, with the vectors."""
    return Point(
        chunk_id=str(point_id),
        row_key=payload["row_key"],
        chunk_number=payload["chunk_number"],
        text=payload["text"],
        content_hash=payload["content_hash"],
        fields_hash=payload["fields_hash"],
        instant=payload["instant"],
        dense=dense,
        sparse=sparse,
        fields=payload["fields"],
        tenant=payload.get("tenant"),
        stems=payload.get("stems", ""),
    )


def write_checkpoint_payload(checkpoint: Checkpoint) -> Payload:
    """Return the payload of the reserved checkpoint point."""
    return {
        "position": checkpoint.position,
        "sequence": checkpoint.sequence,
        "written_at": checkpoint.written_at,
    }


def parse_checkpoint(payload: Payload) -> Checkpoint:
    """Parse the output of `write_checkpoint_payload`."""
    return Checkpoint(payload["position"], payload["sequence"], payload["written_at"])


def build_path(name: str, *, is_flag: bool = False) -> str:
    """Return the payload path of a field or the tenant."""
    if name == TENANT:
        return TENANT
    return f"{'flags' if is_flag else 'fields'}.{name if _PLAIN_NAME.fullmatch(name) else json.dumps(name)}"


def to_match(value: object) -> tuple[bool, str | int | float]:
    """Return whether a value is matched as a flag, and the value to match."""
    if isinstance(value, bool):
        return True, _to_word(value)
    return False, value if isinstance(value, (str, int, float)) else str(value)


def _to_word(value: bool) -> str:
    return "true" if value else "false"

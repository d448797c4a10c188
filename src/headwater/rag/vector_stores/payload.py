"""A point in Qdrant, server or embedded: its payload and field paths. Pure."""

import json
import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from headwater.errors import SearchError
from headwater.rag.lexical.sparse_vector import SparseVector
from headwater.rag.passage import Passage
from headwater.rag.vector_stores.protocol import Checkpoint, IndexSpec, Point, PointState, SearchRequest

DENSE = "dense"
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


def write_spec(spec: IndexSpec) -> str:
    """Serialise the spec as JSON."""
    return json.dumps(
        {
            "dimensions": spec.dimensions,
            "sparse_names": list(spec.sparse_names),
            "fingerprint": spec.fingerprint,
            "filtered": dict(sorted(spec.filtered.items())),
        }
    )


def parse_spec(text: str) -> IndexSpec:
    """Parse the output of `write_spec`."""
    found = json.loads(text)
    return IndexSpec(
        found["dimensions"], tuple(found["sparse_names"]), found["fingerprint"], found["filtered"]
    )


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


def check_point(point: Point, spec: IndexSpec) -> None:
    """Raise `SearchError` when the point's vectors do not match the version."""
    if len(point.dense) != spec.dimensions:
        raise SearchError(
            f"chunk {point.chunk_id} has a vector of length {len(point.dense)}; "
            f"vectors of this version of the index have length {spec.dimensions}",
            hint="build a new version of the index for another model: headwater index build",
        )
    for name in point.sparse:
        _check_name(name, spec)


def check_request(request: SearchRequest, spec: IndexSpec) -> None:
    """Raise `SearchError` when the version cannot answer the request."""
    if isinstance(request.vector, SparseVector):
        _check_name(request.using, spec)
    elif request.using != DENSE or len(request.vector) != spec.dimensions:
        raise SearchError(
            f"query vector of length {len(request.vector)} for {request.using!r}; "
            f"{DENSE!r} vectors of this version have length {spec.dimensions}",
            hint="use the model that the index was built with, or rebuild it: headwater index build",
        )


def _check_name(name: str, spec: IndexSpec) -> None:
    if name not in spec.sparse_names:
        raise SearchError(
            f"this version of the index has no vectors named {name!r}; "
            f"it has {', '.join((DENSE, *spec.sparse_names))}",
            hint="build a new version of the index: headwater index build",
        )


def _to_word(value: bool) -> str:
    return "true" if value else "false"

"""The spec of a version as text, and what it requires of points and requests. Pure."""

import json

from headwater.errors import SearchError
from headwater.rag.lexical.sparse_vector import SparseVector
from headwater.rag.vector_stores.protocol import IndexSpec, Point, SearchRequest

DENSE = "dense"
"""Name of the dense vectors."""


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


def check_same_spec(version: str, found: IndexSpec, wanted: IndexSpec) -> None:
    """Raise `SearchError` when an existing version has another spec than the one to create."""
    if found != wanted:
        raise SearchError(
            f"version {version!r} of the index exists with another spec: {found}",
            hint="choose another name for the new version",
        )


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

"""A Qdrant server, over HTTP or gRPC. A version is a collection; an alias names the live one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from grpc import RpcError
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from headwater.errors import IndexNotFoundError, IndexUnavailableError, SearchError
from headwater.rag.lexical.sparse_vector import SparseVector
from headwater.rag.passage import Passage
from headwater.rag.vector_stores.grouping import search_rows
from headwater.rag.vector_stores.payload import (
    CHECKPOINT_ID,
    PASSAGE_KEYS,
    STATE_KEYS,
    build_fields_payload,
    build_path,
    build_payload,
    parse_checkpoint,
    parse_passage,
    parse_point,
    parse_state,
    to_match,
    write_checkpoint_payload,
)
from headwater.rag.vector_stores.protocol import (
    Checkpoint,
    Filter,
    IndexCondition,
    IndexSpec,
    PassageHit,
    Point,
    PointState,
    SearchRequest,
    VersionState,
)
from headwater.rag.vector_stores.spec import (
    DENSE,
    check_point,
    check_request,
    check_same_spec,
    parse_spec,
    write_spec,
)

_SPEC_KEY = "headwater_spec"
_PAGE = 1_000
_SECONDS = 30
_INDEX_KINDS = {
    "keyword": models.PayloadSchemaType.KEYWORD,
    "number": models.PayloadSchemaType.FLOAT,
    "bool": models.PayloadSchemaType.KEYWORD,
}


class QdrantIndex:
    """One version: a collection. All state is on the server; writes block until searches see them."""

    def __init__(self, client: QdrantClient, collection: str, spec: IndexSpec) -> None:
        self._client = client
        self._name = collection
        self._spec = spec

    @property
    def spec(self) -> IndexSpec:
        """Return the spec of this version."""
        return self._spec

    def upsert(self, points: Sequence[Point]) -> None:
        """Write complete points. Raises `SearchError` when the vectors do not match the spec."""
        for point in points:
            check_point(point, self._spec)
        if points:
            with explained(self._name):
                self._client.upsert(self._name, [_to_point(point) for point in points])

    def set_fields(self, points: Sequence[Point]) -> None:
        """Update existing points, except for text and vectors."""
        with explained(self._name):
            ids: list[Any] = [point.chunk_id for point in points]
            records = self._client.retrieve(self._name, ids, with_payload=False)
            there = {str(record.id) for record in records}
            operations = [
                models.SetPayloadOperation(
                    set_payload=models.SetPayload(
                        payload=build_fields_payload(point), points=[point.chunk_id]
                    )
                )
                for point in points
                if point.chunk_id in there
            ]
            if operations:
                self._client.batch_update_points(self._name, operations)

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Remove points; ignore missing ones."""
        if chunk_ids:
            with explained(self._name):
                self._client.delete(self._name, models.PointIdsList(points=list(chunk_ids)))

    def search(self, requests: Sequence[SearchRequest]) -> list[list[PassageHit]]:
        """Return one list of hits for each request."""
        for request in requests:
            check_request(request, self._spec)
        return search_rows(requests, self._fetch)

    def load(self, row_keys: Sequence[str]) -> list[Point]:
        """Return all chunks of the rows."""
        found: list[Point] = []
        for start in range(0, len(row_keys), _PAGE):
            match = models.MatchAny(any=list(row_keys[start : start + _PAGE]))
            wanted = models.Filter(must=[models.FieldCondition(key="row_key", match=match)])
            found += [_parse_record(record) for record in self._scroll(True, wanted, with_vectors=True)]
        return found

    def iter_states(self) -> Iterator[PointState]:
        """Yield the states of all points, in the order of chunk ids."""
        for record in self._scroll(STATE_KEYS):
            yield parse_state(record.id, record.payload or {})

    def iter_passages(self) -> Iterator[Passage]:
        """Yield all points."""
        for record in self._scroll(PASSAGE_KEYS):
            yield parse_passage(record.id, record.payload or {})

    def count(self) -> int:
        """Return the number of points."""
        with explained(self._name):
            total: int = self._client.count(self._name, exact=True).count
            return total - len(self._client.retrieve(self._name, [CHECKPOINT_ID], with_payload=False))

    def read_checkpoint(self) -> Checkpoint | None:
        """Return the newest checkpoint."""
        with explained(self._name):
            found = self._client.retrieve(self._name, [CHECKPOINT_ID])
        return parse_checkpoint(found[0].payload or {}) if found else None

    def write_checkpoint(self, checkpoint: Checkpoint, expected: Checkpoint | None) -> bool:
        """Write the checkpoint if the stored one is still `expected`. The server decides, so two writers
        cannot both succeed."""
        if self.read_checkpoint() != expected:
            return False
        point = models.PointStruct(id=CHECKPOINT_ID, vector={}, payload=write_checkpoint_payload(checkpoint))
        with explained(self._name):
            if expected is None:
                self._client.upsert(self._name, [point], update_mode=models.UpdateMode.INSERT_ONLY)
            else:
                self._client.upsert(self._name, [point], update_filter=_match_checkpoint(expected))
        return self.read_checkpoint() == checkpoint

    def optimize(self) -> None:
        """Do nothing: the server builds its graphs itself."""

    def _fetch(self, requests: Sequence[tuple[SearchRequest, int]]) -> list[list[PassageHit]]:
        queries = [_build_query(request, depth) for request, depth in requests]
        with explained(self._name):
            answers = self._client.query_batch_points(self._name, queries)
        return [
            [PassageHit(parse_passage(hit.id, hit.payload or {}), hit.score) for hit in one.points]
            for one in answers
        ]

    def _scroll(
        self, keys: bool | list[str], wanted: models.Filter | None = None, *, with_vectors: bool = False
    ) -> Iterator[models.Record]:
        offset: Any = None
        while True:
            with explained(self._name):
                records, offset = self._client.scroll(
                    self._name, wanted, _PAGE, offset=offset, with_payload=keys, with_vectors=with_vectors
                )
            yield from (record for record in records if str(record.id) != CHECKPOINT_ID)
            if offset is None:
                return


class QdrantStore:
    """All versions on one server. `client` may use a server or run in-process.

    Raises `IndexUnavailableError` when the server does not respond, `SearchError` when it rejects a request.
    """

    def __init__(self, client: QdrantClient, collection: str) -> None:
        self._client = client
        self._collection = collection

    @classmethod
    def connect(cls, url: str, collection: str, *, api_key: str | None, prefer_grpc: bool) -> "QdrantStore":
        """Create a client of the server at `url`; sends no request yet."""
        client = QdrantClient(
            url=url, api_key=api_key, prefer_grpc=prefer_grpc, timeout=_SECONDS, check_compatibility=False
        )
        return cls(client, collection)

    def list_versions(self) -> list[str]:
        """Return the version names in order."""
        prefix = self._to_name("")
        with explained(self._collection):
            found = [one.name for one in self._client.get_collections().collections]
        return sorted(name.removeprefix(prefix) for name in found if name.startswith(prefix))

    def create(self, version: str, spec: IndexSpec) -> QdrantIndex:
        """Create an empty version, or open the existing one with the same spec."""
        name = self._to_name(version)
        if version not in self.list_versions():
            with explained(name):
                _create_collection(self._client, name, spec)
        index = self.open(version)
        check_same_spec(version, index.spec, spec)
        with explained(name):
            _create_indexes(self._client, name, spec)
        return index

    def open(self, version: str) -> QdrantIndex:
        """Open a version. Raises `IndexNotFoundError` for an unknown name."""
        self._check(version)
        name = self._to_name(version)
        with explained(name):
            metadata: Mapping[str, Any] = self._client.get_collection(name).config.metadata or {}
        if _SPEC_KEY not in metadata:
            raise SearchError(
                f"collection {name} was not created by headwater",
                hint="choose another search.store.collection, or delete that collection",
            )
        return QdrantIndex(self._client, name, parse_spec(metadata[_SPEC_KEY]))

    def read_state(self, version: str) -> VersionState:
        """Read the state of a version. Raises `IndexNotFoundError` for an unknown name."""
        index = self.open(version)
        return VersionState(index.spec, index.read_checkpoint(), index.count())

    def release(self, version: str) -> None:
        """Do nothing: any number of processes use a version."""

    def drop(self, versions: Iterable[str]) -> None:
        """Remove versions. Raises `SearchError` for the live one."""
        names = set(versions)
        if (live := self.find_live()) in names:
            raise SearchError(
                f"version {live!r} of the index is live", hint="make another version live first"
            )
        for version in names & set(self.list_versions()):
            with explained(self._collection):
                self._client.delete_collection(self._to_name(version))

    def find_live(self) -> str | None:
        """Return the version that searches use."""
        with explained(self._collection):
            aliases = self._client.get_aliases().aliases
        found = [one.collection_name for one in aliases if one.alias_name == self._collection]
        return found[0].removeprefix(self._to_name("")) if found else None

    def set_live(self, version: str) -> None:
        """Make a version live. Raises `IndexNotFoundError` for an unknown name."""
        self._check(version)
        operations: list[Any] = []
        if self.find_live() is not None:
            delete = models.DeleteAlias(alias_name=self._collection)
            operations.append(models.DeleteAliasOperation(delete_alias=delete))
        create = models.CreateAlias(collection_name=self._to_name(version), alias_name=self._collection)
        operations.append(models.CreateAliasOperation(create_alias=create))
        with explained(self._collection):
            self._client.update_collection_aliases(operations)

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _to_name(self, version: str) -> str:
        return f"{self._collection}-{version}"

    def _check(self, version: str) -> None:
        names = self.list_versions()
        if version not in names:
            raise IndexNotFoundError(
                f"the index {self._collection!r} has no version {version!r}; "
                f"versions: {', '.join(names) or 'none'}",
                hint="run headwater index build",
            )


@contextmanager
def explained(collection: str) -> Iterator[None]:
    """Convert errors of the client inside the block to a `SearchError` with a hint."""
    try:
        yield
    except UnexpectedResponse as error:
        text = f"collection {collection}: server returned HTTP {error.status_code}: {_to_line(error.content)}"
        if error.status_code in (401, 403):
            raise SearchError(text, hint="set HEADWATER_QDRANT_API_KEY") from error
        if error.status_code is not None and error.status_code >= 500:
            raise IndexUnavailableError(text, hint="check the log of the Qdrant server") from error
        raise SearchError(text, hint="check that client and server versions are compatible") from error
    except (ResponseHandlingException, RpcError, ConnectionError) as error:
        raise IndexUnavailableError(
            f"collection {collection}: the vector store does not respond: {_to_line(error)}",
            hint="check the server, search.store.url, the network and HEADWATER_QDRANT_API_KEY",
        ) from error
    except (ApiException, ValueError) as error:
        raise SearchError(
            f"collection {collection}: {_to_line(error)}", hint="check the index: headwater index status"
        ) from error


def _to_line(value: object) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return " ".join(text.split())[:300]


def _create_collection(client: QdrantClient, name: str, spec: IndexSpec) -> None:
    client.create_collection(
        name,
        vectors_config={DENSE: models.VectorParams(size=spec.dimensions, distance=models.Distance.DOT)},
        sparse_vectors_config={
            one: models.SparseVectorParams(modifier=models.Modifier.IDF) for one in spec.sparse_names
        },
        metadata={_SPEC_KEY: write_spec(spec)},
    )


def _create_indexes(client: QdrantClient, name: str, spec: IndexSpec) -> None:
    """Create the payload indexes. Also completes an interrupted creation; existing ones stay unchanged."""
    client.create_payload_index(
        name, "tenant", models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    )
    client.create_payload_index(name, "row_key", models.PayloadSchemaType.KEYWORD)
    for field, kind in spec.filtered.items():
        path = build_path(field, is_flag=kind == "bool")
        if path != "tenant":
            client.create_payload_index(name, path, _INDEX_KINDS[kind])


def _match_checkpoint(expected: Checkpoint) -> models.Filter:
    conditions: list[Any] = [
        models.FieldCondition(key=key, match=models.MatchValue(value=value))
        for key, value in write_checkpoint_payload(expected).items()
    ]
    return models.Filter(must=conditions)


def _to_point(point: Point) -> models.PointStruct:
    vectors: dict[str, Any] = {DENSE: [float(number) for number in point.dense]}
    for name, vector in point.sparse.items():
        if vector.indices:
            vectors[name] = models.SparseVector(indices=list(vector.indices), values=list(vector.values))
    return models.PointStruct(id=point.chunk_id, vector=vectors, payload=build_payload(point))


def _parse_record(record: models.Record) -> Point:
    vectors: Mapping[str, Any] = record.vector if isinstance(record.vector, dict) else {}
    sparse = {
        name: SparseVector(tuple(vector.indices), tuple(vector.values))
        for name, vector in vectors.items()
        if name != DENSE
    }
    return parse_point(record.id, record.payload or {}, list(vectors[DENSE]), sparse)


def _build_query(request: SearchRequest, depth: int) -> models.QueryRequest:
    vector: Any = request.vector
    if isinstance(vector, SparseVector):
        vector = models.SparseVector(indices=list(vector.indices), values=list(vector.values))
    else:
        vector = [float(number) for number in vector]
    return models.QueryRequest(
        query=vector,
        using=request.using,
        limit=depth,
        filter=_build_filter(request.conditions),
        with_payload=PASSAGE_KEYS,
    )


def _build_filter(conditions: Filter) -> models.Filter | None:
    if not conditions:
        return None
    must: list[Any] = []
    must_not: list[Any] = []
    for condition in conditions:
        (must_not if condition.operator in {"ne", "not_in"} else must).append(_build_condition(condition))
    return models.Filter(must=must, must_not=must_not)


def _build_condition(condition: IndexCondition) -> Any:
    operator, value = condition.operator, condition.value
    if operator in {"lt", "lte", "gt", "gte"}:
        limit: Any = {operator: value}
        return models.FieldCondition(key=build_path(condition.field), range=models.Range(**limit))
    values = value if isinstance(value, (list, tuple)) else [value]
    # An empty list has no match: an empty filter would match everything.
    nothing: Any = models.HasIdCondition(has_id=[])
    return models.Filter(should=[_build_match(condition.field, one) for one in values] or [nothing])


def _build_match(field: str, value: object) -> Any:
    is_flag, asked = to_match(value)
    path = build_path(field, is_flag=is_flag)
    if isinstance(asked, str):
        return models.FieldCondition(key=path, match=models.MatchValue(value=asked))
    return models.FieldCondition(key=path, range=models.Range(gte=asked, lte=asked))

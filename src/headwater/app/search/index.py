"""The index as commands and the server use it: no JVM."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from types import MappingProxyType

from headwater.app.search.wiring import build_rules, find_search, open_store
from headwater.capture.position import parse_instant
from headwater.config.environment import read_environment
from headwater.config.settings import Settings
from headwater.errors import IndexNotFoundError, IndexUnavailableError
from headwater.lake.layout import chunks_path, table_path
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.storage_options import build_storage_options
from headwater.observability.metrics import Metrics
from headwater.rag.embedding import Embedder, build_embedder
from headwater.rag.index_rules import build_spec, read_chunks_fingerprint
from headwater.rag.index_state import IndexState
from headwater.rag.lexical.sparse import SPARSE_NAMES, SparseEncoder
from headwater.rag.syncing.ahead import Ahead
from headwater.rag.syncing.lake_chunks import LakeChunks
from headwater.rag.syncing.past_chunks import PastChunks
from headwater.rag.syncing.position import parse_position
from headwater.rag.syncing.sync import IndexSync, SyncReport
from headwater.rag.syncing.versions import BuildReport, Gate, IndexVersions, check_spec, judge_by_canaries
from headwater.rag.vector_stores.protocol import Index, IndexSpec, VectorStore


@dataclass(frozen=True, slots=True)
class VersionStatus:
    """One version of the index. `as_of` is the data table's newest commit in it; None while it is filled."""

    name: str
    is_live: bool
    points: int
    as_of: datetime | None
    synced_at: str | None
    is_as_configured: bool


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """`headwater index status`. `lag_seconds` is the age of the oldest data table commit missing from the
    live version; None without a live version. `problem` says why the store could not be asked."""

    table: str
    model: str
    live: str | None
    versions: tuple[VersionStatus, ...]
    lag_seconds: float | None
    divergence_rows: int | None
    chunks_as_of: datetime | None
    embedded: int
    reused: int
    problem: str | None = None


class SearchIndex:
    """Store, chunks and model of one configuration. `close` releases the store.

    Raises `ConfigError` without `search:`, and `HeadwaterError` as its parts do.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        environ: Mapping[str, str] | None = None,
        store: VectorStore | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.settings = settings
        self.search = find_search(settings)
        self._environ = read_environment() if environ is None else environ
        self._given_store = store
        self._metrics = metrics
        self.encoder = SparseEncoder()

    @cached_property
    def embedder(self) -> Embedder:
        """Return the configured model; it loads at the first text."""
        return build_embedder(self.search.embedder, self._environ)

    @cached_property
    def store(self) -> VectorStore:
        """Return the configured store."""
        return self._given_store or open_store(self.settings, self._environ)

    @property
    def versions(self) -> IndexVersions:
        """Return the versions in the store."""
        return IndexVersions(self.store)

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of the configured chunks."""
        return build_rules(self.settings).build_fingerprint(self.embedder.name)

    def build_spec(self) -> IndexSpec:
        """Return the spec of a version of this configuration. Raises `IndexNotFoundError` without chunks."""
        return self.build_spec_of(self.open_chunks().read_snapshot().state)

    def build_spec_of(self, state: IndexState) -> IndexSpec:
        """Return the spec of a version of chunks in that state."""
        kinds = dict(state.kinds) | ({"tenant": "keyword"} if self.search.tenant else {})
        return self.build_bare_spec(kinds)

    def check_version(self, index: Index) -> None:
        """Raise `SearchError` when the version is of another configuration: vectors of two models are not
        comparable, even with equal length."""
        check_spec(self.build_bare_spec(), index.spec)

    def build_bare_spec(self, kinds: Mapping[str, str] = MappingProxyType({})) -> IndexSpec:
        """Return the part of the spec that needs no read of the lake; `kinds` are those of the fields."""
        return build_spec(
            self.fingerprint, self.encoder.fingerprint, self.embedder.dimensions, SPARSE_NAMES, kinds
        )

    def open_chunks(self, fingerprint: str = "") -> LakeChunks:
        """Open the chunks in the lake, of the configuration or of another fingerprint."""
        settings = self.settings
        options = build_storage_options(settings.lake, settings.lake_storage)
        return LakeChunks(chunks_path(settings.lake), fingerprint or self.fingerprint, options)

    def open_past_chunks(self) -> PastChunks:
        """Open the configuration's chunks as of earlier commits."""
        settings = self.settings
        options = build_storage_options(settings.lake, settings.lake_storage)
        return PastChunks(chunks_path(settings.lake), self.fingerprint, options)

    def open_sync(self, index: Index, ahead: Ahead | None = None) -> IndexSync:
        """Return the sync that keeps a version up to date with its chunks; `ahead` as `IndexSync`."""
        chunks = self.open_chunks(read_chunks_fingerprint(index.spec))
        return IndexSync(chunks, index, self.encoder, _now, ahead)

    def sync(self) -> SyncReport:
        """Bring the live version up to date with the chunks; without one, build the first."""
        live = self.versions.open_live()
        if live is None:
            return self.build(judge_by_canaries).sync
        return self.open_sync(live[1]).run()

    def reconcile(self, ahead: Ahead | None = None) -> SyncReport:
        """Compare all of the live version with its chunks, and repair it. Raises `IndexNotFoundError`."""
        live = self.versions.open_live()
        if live is None:
            raise IndexNotFoundError("there is no index yet", hint="run `headwater index build`")
        report = self.open_sync(live[1], ahead).reconcile()
        if self._metrics:
            self._metrics.set("index_divergence_rows", report.divergent_rows)
        return report

    def build(self, gate: Gate = judge_by_canaries) -> BuildReport:
        """Build a new version from the chunks; it goes live if it passes the gate."""
        return self.versions.build(self.build_spec(), self.open_sync, gate)

    def optimize(self) -> None:
        """Make searches of the live version faster; see `Index.optimize`."""
        live = self.versions.open_live()
        if live is not None:
            live[1].optimize()

    def read_status(self, *, compare: bool = False) -> IndexStatus:
        """Return the versions. `compare`: also count rows of the live version that differ from its chunks."""
        chunks = self.open_chunks().find_state()
        problem = None
        try:
            versions = tuple(self._read_version(name) for name in self.store.list_versions())
        except IndexUnavailableError as error:
            versions, problem = (), error.message
        live = next((one for one in versions if one.is_live), None)
        return IndexStatus(
            table=self.search.table,
            model=self.embedder.name,
            live=live.name if live else None,
            versions=versions,
            lag_seconds=self._read_lag(live) if live else None,
            divergence_rows=self._count_divergence(live) if live and compare else None,
            chunks_as_of=_parse_time(chunks.as_of) if chunks else None,
            embedded=chunks.embedded if chunks else 0,
            reused=chunks.reused if chunks else 0,
            problem=problem,
        )

    def close(self) -> None:
        """Release the store."""
        if self._given_store is None and "store" in self.__dict__:
            self.store.close()

    def _read_version(self, name: str) -> VersionStatus:
        state = self.store.read_state(name)
        checkpoint = state.checkpoint
        position = parse_position(checkpoint.position) if checkpoint else None
        return VersionStatus(
            name=name,
            is_live=name == self.store.find_live(),
            points=state.points,
            as_of=_parse_time(position.newest_as_of) if position else None,
            synced_at=checkpoint.written_at if checkpoint else None,
            is_as_configured=read_chunks_fingerprint(state.spec) == self.fingerprint,
        )

    def _read_lag(self, live: VersionStatus) -> float:
        """Return the age in seconds of the oldest data table commit missing from the live version."""
        path = table_path(self.settings.lake, self.search.table)
        options = build_storage_options(self.settings.lake, self.settings.lake_storage)
        reader = SnapshotReader(path, options)
        commits = [parse_instant(name.completed) for name in reader.commit_names] if reader.exists() else []
        missed = [time for time in commits if live.as_of is None or time > live.as_of]
        return max(0.0, (_now() - min(missed)).total_seconds()) if missed else 0.0

    def _count_divergence(self, live: VersionStatus) -> int:
        return self.open_sync(self.store.open(live.name)).count_divergence()

    def is_same_selection(self, state: IndexState) -> bool:
        """True if the chunks are of the configured rows and fields."""
        return state.selection == self.build_selection()

    def build_selection(self) -> str:
        """Return the selection of the configured rows and fields."""
        return build_rules(self.settings).build_selection()

    def find_chunks_state(self) -> IndexState | None:
        """Return the recorded state of the configuration's chunks; None when there are none."""
        return self.open_chunks().find_state()


def _now() -> datetime:
    return datetime.now(timezone.utc)


def _parse_time(instant: str) -> datetime | None:
    return parse_instant(instant) if instant else None

"""Versions of the index: a new one is filled while the old one is live, validated, and switched to
atomically."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from headwater.errors import IndexNotFoundError, IndexUnavailableError, SearchError
from headwater.observability.crash_points import crash_point
from headwater.rag.syncing.sync import IndexSync, SyncReport
from headwater.rag.vector_stores.memory import MemoryIndex
from headwater.rag.vector_stores.protocol import Index, IndexSpec, SearchRequest, VectorStore

KEPT_VERSIONS = 2
"""In addition to the live one."""

_NAME = re.compile(r"v(\d{4,})")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a new version may go live. `reason` explains it, `figures` are the evidence."""

    passed: bool
    reason: str
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BuildReport:
    """A filled version; `is_live` if searches use it now. `dropped` are the removed versions."""

    version: str
    points: int
    is_live: bool
    verdict: Verdict
    sync: SyncReport
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveVersion:
    """The version that searches use. `open` returns it, or a copy while another process has it open."""

    spec: IndexSpec
    points: int
    open: Callable[[], Index]


Gate = Callable[[LiveVersion | None, Index], Verdict]
"""Judges a new version against the live one, if any."""

OpenSync = Callable[[Index], IndexSync]
"""The sync that fills a version."""


class IndexVersions:
    """The versions in one store. Raises `SearchError`."""

    def __init__(self, store: VectorStore) -> None:
        self._store = store

    def open_live(self) -> tuple[str, Index] | None:
        """Return name and index of the live version."""
        name = self._store.find_live()
        return (name, self._store.open(name)) if name else None

    def build(self, spec: IndexSpec, open_sync: OpenSync, gate: Gate) -> BuildReport:
        """Fill a new version and switch to it if it passes the gate; else drop it.

        Another process may search the live version at the same time; then the gate judges a copy in memory.
        """
        self._drop_unfinished()
        live = self._find_live(open_sync)
        name = self._name_next()
        index = self._store.create(name, spec)
        sync = open_sync(index)
        report = sync.run()
        verdict = gate(live, index)
        if not verdict.passed:
            points = index.count()
            self._store.drop([name])
            return BuildReport(name, points, False, verdict, report)
        if live is not None:
            index.optimize()  # until then, searches use the live version
        sync.run()  # changes since then
        crash_point("before_index_switch")
        self._store.set_live(name)
        return BuildReport(name, index.count(), True, verdict, report, self._drop_old())

    def rollback(self) -> str:
        """Make the version before the live one live again; return its name."""
        live = self._store.find_live()
        older = [name for name in self._list_finished() if live is not None and name < live]
        if not older:
            raise IndexNotFoundError(
                "no older version of the index to roll back to",
                hint=f"versions: {', '.join(self._store.list_versions()) or 'none'}; live: {live or 'none'}",
            )
        self._store.set_live(older[-1])
        return older[-1]

    def _find_live(self, open_sync: OpenSync) -> LiveVersion | None:
        name = self._store.find_live()
        if name is None:
            return None
        state = self._store.read_state(name)

        def open_or_copy() -> Index:
            try:
                return self._store.open(name)
            except IndexUnavailableError:
                copy = MemoryIndex(state.spec)
                open_sync(copy).run()
                return copy

        return LiveVersion(state.spec, state.points, open_or_copy)

    def _list_finished(self) -> list[str]:
        # The first checkpoint of a version is written when all of its points are.
        names = [name for name in self._store.list_versions() if _NAME.fullmatch(name)]
        return [name for name in names if self._store.read_state(name).checkpoint is not None]

    def _drop_unfinished(self) -> None:
        names = [name for name in self._store.list_versions() if _NAME.fullmatch(name)]
        self._store.drop(set(names) - set(self._list_finished()) - {self._store.find_live() or ""})

    def _drop_old(self) -> tuple[str, ...]:
        live = self._store.find_live()
        others = [name for name in self._list_finished() if name != live]
        old = others[:-KEPT_VERSIONS]
        self._store.drop(old)
        kept = set(self._store.list_versions())
        return tuple(name for name in old if name not in kept)

    def _name_next(self) -> str:
        numbers = [int(found[1]) for found in map(_NAME.fullmatch, self._store.list_versions()) if found]
        return f"v{max(numbers, default=0) + 1:04}"


def judge_by_canaries(live: LiveVersion | None, new: Index, *, canaries: int = 50) -> Verdict:
    """Judge without judged queries: the index is not empty, and each of some rows finds itself."""
    points = new.count()
    figures: dict[str, float] = {"points": points, "live_points": live.points if live else 0}
    if not points and figures["live_points"]:
        return Verdict(False, "the new version is empty, but the live one is not", figures)
    states = [state for at, state in enumerate(new.iter_states()) if at % max(1, points // canaries) == 0]
    asked = [point for point in new.load([state.row_key for state in states[:canaries]]) if any(point.dense)]
    found = new.search([SearchRequest("dense", point.dense, 10) for point in asked])
    texts = {(hit.passage.row_key, hit.passage.text) for hits in found for hit in hits}
    # Rows with the same text cannot be distinguished by it.
    hits = sum(
        1
        for point, answer in zip(asked, found, strict=True)
        if point.row_key in {hit.passage.row_key for hit in answer}
        or any(text == point.text for _, text in texts)
    )
    figures |= {"canaries": len(asked), "found": hits}
    if hits < len(asked) * 0.9:
        return Verdict(False, f"only {hits} of {len(asked)} rows are found by their own vector", figures)
    return Verdict(
        True, f"{points} points; {hits} of {len(asked)} rows are found by their own vector", figures
    )


def check_spec(spec: IndexSpec, live: IndexSpec) -> None:
    """Raise `SearchError` when the live version was built for another configuration."""
    if spec.dimensions != live.dimensions:
        problem = (
            f"its vectors have length {live.dimensions}, those of the configured model {spec.dimensions}"
        )
    elif spec.fingerprint != live.fingerprint:
        problem = "the model, text columns, chunking or word analysis differs"
    else:
        return
    raise SearchError(
        f"the live index was built for another configuration: {problem}",
        hint="`headwater index build` builds a new version alongside it, and makes it live if it is as good",
    )

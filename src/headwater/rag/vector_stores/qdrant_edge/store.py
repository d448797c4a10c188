"""All versions of an index in a folder."""

import threading
from collections.abc import Iterable
from pathlib import Path

from headwater.errors import IndexUnavailableError, SearchError
from headwater.rag.vector_stores.protocol import IndexSpec, VersionState
from headwater.rag.vector_stores.qdrant_edge.folder import ClaimedVersion, IndexFolder
from headwater.rag.vector_stores.qdrant_edge.index import EdgeIndex
from headwater.rag.vector_stores.spec import check_same_spec


class EdgeVectorStore:
    """All versions in one folder. Raises `IndexUnavailableError` when another process has a version open."""

    def __init__(self, folder: Path, collection: str) -> None:
        self._folder = IndexFolder(folder / collection)
        self._threads = threading.RLock()
        self._open: dict[str, EdgeIndex] = {}

    def list_versions(self) -> list[str]:
        """Return the version names in order."""
        return self._folder.list_versions()

    def create(self, version: str, spec: IndexSpec) -> EdgeIndex:
        """Create an empty version, or open the existing one with the same spec."""
        with self._threads:
            with self._folder.changing():
                if version not in self._folder.list_versions():
                    claimed = self._folder.begin(version)
                    self._open[version] = _open_index(claimed, spec)
                    self._folder.finish(claimed, spec)
            index = self.open(version)
        check_same_spec(version, index.spec, spec)
        return index

    def open(self, version: str) -> EdgeIndex:
        """Open a version. Raises `IndexNotFoundError` for an unknown name."""
        with self._threads:
            if version not in self._open:
                with self._folder.changing():
                    spec = self._folder.read_spec(version)
                    claimed = self._folder.claim(version)
                self._open[version] = _open_index(claimed, spec)
            return self._open[version]

    def read_state(self, version: str) -> VersionState:
        """Read the state of a version, even if another process has it open: as of its last checkpoint."""
        with self._threads:
            known = None if version in self._open else self._folder.read_state(version)
            if known is not None:
                return known
            try:
                index = self.open(version)
            except IndexUnavailableError:
                # The process that fills it publishes its state when it is complete.
                return VersionState(self._folder.read_spec(version), None, 0)
            return VersionState(index.spec, index.read_checkpoint(), index.count())

    def release(self, version: str) -> None:
        """Close a version, so that another process can open or remove it."""
        with self._threads:
            index = self._open.pop(version, None)
        if index is not None:
            index.close()

    def drop(self, versions: Iterable[str]) -> None:
        """Remove versions. Raises `SearchError` for the live one."""
        names = set(versions)
        with self._threads, self._folder.changing():
            if (live := self._folder.find_live()) in names:
                raise SearchError(
                    f"version {live!r} of the index is live", hint="make another version live first"
                )
            for name in names & set(self.list_versions()):
                self.release(name)
                self._folder.remove(name)

    def find_live(self) -> str | None:
        """Return the version that searches use."""
        return self._folder.find_live()

    def set_live(self, version: str) -> None:
        """Make a version live. Raises `IndexNotFoundError` for an unknown name."""
        with self._threads, self._folder.changing():
            self._folder.check(version)
            self._folder.write_live(version)

    def close(self) -> None:
        """Flush writes, and release all versions."""
        with self._threads:
            for version in list(self._open):
                self.release(version)


def _open_index(claimed: ClaimedVersion, spec: IndexSpec) -> EdgeIndex:
    try:
        return EdgeIndex(claimed, spec)
    except SearchError:
        claimed.release()
        raise

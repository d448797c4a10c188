"""Earlier states of the chunks table, read with hudi-rs."""

from collections.abc import Iterator, Mapping

from headwater.errors import LakeError
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.rag.chunk import Chunk
from headwater.rag.index_state import IndexState, metadata_key, parse_index_state
from headwater.rag.syncing.lake_chunks import CHUNK_COLUMNS, parse_chunks, select_present
from headwater.rag.syncing.moments import Moment


class PastChunks:
    """The chunks of one fingerprint, at every commit that is still complete. For one thread at a time.

    Raises `LakeError` when the lake cannot be read.
    """

    def __init__(self, path: str, fingerprint: str, storage_options: Mapping[str, str]) -> None:
        self._path = path
        self._fingerprint = fingerprint
        self._options = storage_options
        # Commit metadata never changes, and each read has a cost.
        self._states: dict[str, IndexState | None] = {}

    def list_moments(self) -> list[Moment]:
        """Return the moments, oldest first."""
        reader = self._open()
        # For older commits hudi-rs silently returns only the files that the cleaner has left.
        earliest = reader.find_earliest_retained()
        names = [name for name in reader.commit_names if name.requested >= earliest]
        states = {name.requested: self._load_state(reader, name.requested) for name in names}
        self._states = states
        return [Moment(requested, state) for requested, state in states.items() if state]

    def read(self, moment: Moment) -> Iterator[Chunk] | None:
        """Yield all chunks of that moment; None when the cleaner has removed some of them."""
        reader = self._open()
        try:
            rows = reader.read(CHUNK_COLUMNS, as_of=moment.requested)
        except LakeError:
            if self._is_cleaned(reader, moment):
                return None
            raise
        # A clean records its plan before it deletes: one that started during the read is detected.
        if self._is_cleaned(reader, moment):
            return None
        return parse_chunks(select_present(rows, self._fingerprint))

    def _open(self) -> SnapshotReader:
        return SnapshotReader(self._path, self._options)

    def _load_state(self, reader: SnapshotReader, requested: str) -> IndexState | None:
        if requested in self._states:
            return self._states[requested]
        metadata = reader.load_commit(requested).own_metadata
        key = metadata_key(self._fingerprint)
        return parse_index_state(metadata, self._fingerprint) if key in metadata else None

    def _is_cleaned(self, reader: SnapshotReader, moment: Moment) -> bool:
        return reader.find_earliest_retained() > moment.requested

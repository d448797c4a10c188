"""Syncs an index with the chunks: writes new points, removes old ones, then writes the checkpoint."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TypeVar

from headwater.errors import IndexUnavailableError
from headwater.observability.crash_points import crash_point
from headwater.rag.chunk import Chunk
from headwater.rag.syncing.divergence import Divergence, compare_states
from headwater.rag.syncing.position import SyncPosition, parse_position
from headwater.rag.syncing.protocol import ChunkSnapshot, ChunkSource, PassageEncoder
from headwater.rag.vector_stores.protocol import Checkpoint, Index, Point

_log = logging.getLogger(__name__)

_T = TypeVar("_T")

PAGE = 256
_ATTEMPTS = 5


@dataclass(slots=True)
class SyncReport:
    """The result of one sync.

    `compared` is true if the changes were no longer known, so that everything was compared. In that case,
    `divergent_rows` counts the rows that were missing, wrong or extra.
    """

    upserted: int = 0
    fields_set: int = 0
    deleted: int = 0
    compared: bool = False
    divergent_rows: int = 0
    as_of: str = ""

    @property
    def has_changed(self) -> bool:
        """True if anything was written."""
        return bool(self.upserted or self.fields_set or self.deleted)


class IndexSync:
    """Syncs one version of the index with the chunks. Safe to kill, to repeat, and to run concurrently.

    Keeps all state in the index itself. Raises `HeadwaterError`; then a retry is safe.
    """

    def __init__(
        self, source: ChunkSource, index: Index, encoder: PassageEncoder, now: Callable[[], datetime]
    ) -> None:
        self._source = source
        self._index = index
        self._encoder = encoder
        self._now = now

    def run(self) -> SyncReport:
        """Write the changes since the checkpoint; write nothing when there are none."""
        stored = self._index.read_checkpoint()
        snapshot = self._source.read_snapshot()
        if stored is not None and parse_position(stored.position) == snapshot.position:
            return SyncReport(as_of=snapshot.position.as_of)
        return self._follow(snapshot, stored, always_compare=False)

    def reconcile(self) -> SyncReport:
        """Compare all of the index with all of the chunks, and repair the differences."""
        self.run()
        stored = self._index.read_checkpoint()
        snapshot = self._source.read_snapshot()
        if stored is None or parse_position(stored.position) != snapshot.position:
            return SyncReport(as_of=snapshot.position.as_of)  # the chunks have advanced: compare next time
        return self._follow(snapshot, stored, always_compare=True)

    def count_divergence(self) -> int:
        """Count rows that differ from the chunks now, including those that a sync would write."""
        return len(compare_states(self._source.read_snapshot().iter_states(), self._index.iter_states()).rows)

    def _follow(
        self, snapshot: ChunkSnapshot, stored: Checkpoint | None, *, always_compare: bool
    ) -> SyncReport:
        report = SyncReport()
        began = parse_position(stored.position) if stored else None
        for _ in range(_ATTEMPTS):
            self._apply(snapshot, None if always_compare else began, report)
            report.as_of = snapshot.position.as_of
            if always_compare and not report.has_changed:
                return report
            if self._write_checkpoint(snapshot, stored):
                return report
            # Another sync was faster. Our writes may be older than its writes, so write the newest state of
            # everything that we may have changed again.
            _log.warning("another process has written the checkpoint of this index; retrying")
            stored = self._index.read_checkpoint()
            snapshot = self._source.read_snapshot()
        raise IndexUnavailableError(
            f"no checkpoint written in {_ATTEMPTS} attempts: other processes keep writing to this index",
            hint="sync it from one process only: `headwater serve`, or `headwater index sync`",
        )

    def _write_checkpoint(self, snapshot: ChunkSnapshot, stored: Checkpoint | None) -> bool:
        crash_point("before_index_checkpoint")
        checkpoint = Checkpoint(
            snapshot.position.to_text(), stored.sequence + 1 if stored else 1, self._now().isoformat()
        )
        is_written = self._index.write_checkpoint(checkpoint, stored)
        crash_point("after_index_checkpoint")
        return is_written

    def _apply(self, snapshot: ChunkSnapshot, since: SyncPosition | None, report: SyncReport) -> None:
        changes = snapshot.iter_changes(since) if since else None
        if since is None or changes is None:
            self._compare(snapshot, report)
            return
        deleted: list[str] = []
        for page in _in_pages(changes):
            deleted += [chunk.chunk_id for chunk in page if chunk.deleted]
            present = [chunk for chunk in page if not chunk.deleted]
            self._upsert([chunk for chunk in present if chunk.content_revision > since.revision], report)
            self._set_fields([chunk for chunk in present if chunk.content_revision <= since.revision], report)
        self._delete(deleted, report)

    def _compare(self, snapshot: ChunkSnapshot, report: SyncReport) -> None:
        if not self._index.count():
            for page in _in_pages(snapshot.iter_chunks(None)):
                self._upsert(page, report)
            return
        report.compared = True
        found = compare_states(snapshot.iter_states(), self._index.iter_states())
        report.divergent_rows = len(found.rows)
        self._repair(snapshot, found, report)

    def _repair(self, snapshot: ChunkSnapshot, found: Divergence, report: SyncReport) -> None:
        # Changed fields may have changed indexed words, so the whole point is written.
        wrong = {*found.missing, *found.changed_text, *found.changed_fields}
        for page in _in_pages(snapshot.iter_chunks(wrong)):
            self._upsert(page, report)
        self._delete(found.surplus, report)

    def _upsert(self, chunks: Sequence[Chunk], report: SyncReport) -> None:
        if not chunks:
            return
        crash_point("before_index_upsert")
        self._index.upsert(build_points(chunks, self._encoder))
        report.upserted += len(chunks)
        crash_point("after_index_upsert")

    def _set_fields(self, chunks: Sequence[Chunk], report: SyncReport) -> None:
        if not chunks:
            return
        self._index.set_fields([build_bare_point(chunk) for chunk in chunks])
        report.fields_set += len(chunks)
        crash_point("after_index_fields")

    def _delete(self, chunk_ids: Sequence[str], report: SyncReport) -> None:
        for page in _in_pages(chunk_ids):
            crash_point("before_index_delete")
            self._index.delete(page)
            report.deleted += len(page)
            crash_point("after_index_delete")


def fill_index(index: Index, chunks: Iterable[Chunk], encoder: PassageEncoder) -> None:
    """Write existing chunks to an empty index that is not searched yet."""
    for page in _in_pages(chunks):
        index.upsert(build_points(page, encoder))


def build_points(chunks: Sequence[Chunk], encoder: PassageEncoder) -> list[Point]:
    """Build complete points of existing chunks."""
    bare = [build_bare_point(chunk) for chunk in chunks]
    return [
        replace(
            point,
            dense=chunk.vector,
            sparse=encoder.encode_passage(point.text, point.fields),
            stems=encoder.encode_stems(point.text),
        )
        for point, chunk in zip(bare, chunks, strict=True)
    ]


def build_bare_point(chunk: Chunk) -> Point:
    """Build a point for `set_fields`, without vectors."""
    return Point(
        chunk_id=chunk.chunk_id,
        row_key=chunk.row_key,
        chunk_number=chunk.chunk_number,
        text=chunk.text,
        content_hash=chunk.content_hash,
        fields_hash=chunk.fields_hash,
        instant=chunk.instant,
        dense=(),
        fields=chunk.load_fields(),
        tenant=chunk.tenant,
    )


def _in_pages(items: Iterable[_T]) -> Iterator[list[_T]]:
    remaining = iter(items)
    while page := list(islice(remaining, PAGE)):
        yield page

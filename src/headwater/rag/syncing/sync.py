"""Syncs an index with the chunks: writes new points, removes old ones, then writes the checkpoint.

`IndexSync.advance` also writes rows that the chunks do not have yet: see `ahead`.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TypeVar

from headwater.errors import IndexUnavailableError
from headwater.observability.crash_points import crash_point
from headwater.rag.chunk import Chunk
from headwater.rag.syncing.ahead import (
    MOST_AHEAD,
    Ahead,
    Division,
    NewRows,
    RowSource,
    compare_points,
    keep_rows,
    skip_rows,
)
from headwater.rag.syncing.divergence import Divergence, compare_states
from headwater.rag.syncing.position import SyncPosition, parse_position
from headwater.rag.syncing.protocol import ChunkSnapshot, ChunkSource, PassageEncoder
from headwater.rag.vector_stores.protocol import Checkpoint, Index, Point, PointState

_log = logging.getLogger(__name__)

_T = TypeVar("_T")

Embed = Callable[[list[str]], Iterable[Sequence[float]]]
"""Returns a vector for each text."""

PAGE = 256
_PAGES_A_LINE = 40
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
        self,
        source: ChunkSource,
        index: Index,
        encoder: PassageEncoder,
        now: Callable[[], datetime],
        ahead: Ahead | None = None,
    ) -> None:
        """`ahead` is what this process knows of rows of this index that it has written ahead."""
        self._source = source
        self._index = index
        self._encoder = encoder
        self._now = now
        self._ahead = Ahead() if ahead is None else ahead

    def run(self) -> SyncReport:
        """Write the changes since the checkpoint; write nothing when there are none."""
        stored = self._index.read_checkpoint()
        snapshot = self._source.read_snapshot()
        position = _parse(stored)
        if position is not None and position.of_chunks == snapshot.position and self._is_certain(position):
            return SyncReport(as_of=position.newest_as_of)
        return self._follow(snapshot, stored, always_compare=False)

    def advance(self, rows: RowSource, embed: Embed) -> SyncReport:
        """Write the rows that commits after those of the chunks have changed."""
        stored = self._index.read_checkpoint()
        report = SyncReport()
        if stored is None:
            return report
        position = parse_position(stored.position)
        report.as_of = position.newest_as_of
        if not self._is_certain(position):
            return report  # `run` sets rows back first
        found = rows.read_after(position.newest_as_of)
        if found is None or len(self._ahead.instants.keys() | found.chunks.keys()) > MOST_AHEAD:
            return report
        # The checkpoint names the rows before their points change: a process that starts after a kill must
        # know of them.
        self._ahead.instants |= dict.fromkeys(found.chunks, found.as_of)
        named = replace(position, ahead=tuple(sorted(self._ahead.instants)))
        if begun := self._write_checkpoint(named, stored):
            self._write_rows(found, embed, report)
            if self._write_checkpoint(replace(named, ahead_as_of=found.as_of), begun):
                report.as_of = found.as_of
        return report

    def _is_certain(self, position: SyncPosition) -> bool:
        return not self._ahead.divide(position, position.as_of).uncertain

    def _write_rows(self, found: NewRows, embed: Embed, report: SyncReport) -> None:
        chunks = [chunk for of_row in found.chunks.values() for chunk in of_row]
        writes = compare_points(chunks, self._index.load(list(found.chunks)))
        made = embed([chunk.text for chunk in writes.lacking]) if writes.lacking else []
        vectors = [*writes.kept, *zip(writes.lacking, made, strict=True)]
        for page in _in_pages(replace(chunk, vector=vector) for chunk, vector in vectors):
            self._upsert(page, report)
        self._delete(writes.deleted, report)

    def reconcile(self) -> SyncReport:
        """Compare all of the index with all of the chunks, and repair the differences."""
        self.run()
        stored = self._index.read_checkpoint()
        snapshot = self._source.read_snapshot()
        position = _parse(stored)
        if position is None or position.of_chunks != snapshot.position:
            return SyncReport(as_of=snapshot.position.as_of)  # the chunks have advanced: compare next time
        return self._follow(snapshot, stored, always_compare=True)

    def count_divergence(self) -> int:
        """Count rows that differ from the chunks now, including those that a sync would write. Rows ahead of
        the chunks do not count."""
        position = _parse(self._index.read_checkpoint())
        ahead = set(position.ahead) if position else set()
        wanted = skip_rows(self._source.read_snapshot().iter_states(), ahead)
        return len(compare_states(wanted, skip_rows(self._index.iter_states(), ahead)).rows)

    def _follow(
        self, snapshot: ChunkSnapshot, stored: Checkpoint | None, *, always_compare: bool
    ) -> SyncReport:
        report = SyncReport()
        began = _parse(stored)
        for _ in range(_ATTEMPTS):
            if self._try(snapshot, None if always_compare else began, stored, report):
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

    def _try(
        self,
        snapshot: ChunkSnapshot,
        since: SyncPosition | None,
        stored: Checkpoint | None,
        report: SyncReport,
    ) -> bool:
        """Apply the changes since `since`, or compare everything; False if another process is faster."""
        before, position = _parse(stored), snapshot.position
        division = self._ahead.divide(before, position.as_of)
        if before is not None and before.ahead_as_of and division.uncertain:
            # The index must not claim a commit whose rows are set back to their chunks.
            stored = self._write_checkpoint(replace(before, ahead_as_of=""), stored)
            if stored is None:
                return False
        self._apply(snapshot, since, division, report)
        report.as_of = position.as_of
        ahead = replace(position, ahead=tuple(sorted(division.held)), ahead_as_of=division.as_of)
        if self._write_checkpoint(ahead, stored) is None:
            return False
        self._ahead.instants = dict(division.held)
        return True

    def _write_checkpoint(self, position: SyncPosition, stored: Checkpoint | None) -> Checkpoint | None:
        """Write it if the stored one is still `stored`; None otherwise."""
        crash_point("before_index_checkpoint")
        sequence = stored.sequence + 1 if stored else 1
        checkpoint = Checkpoint(position.to_text(), sequence, self._now().isoformat())
        is_written = self._index.write_checkpoint(checkpoint, stored)
        crash_point("after_index_checkpoint")
        return checkpoint if is_written else None

    def _apply(
        self, snapshot: ChunkSnapshot, since: SyncPosition | None, division: Division, report: SyncReport
    ) -> None:
        changes = snapshot.iter_changes(since) if since else None
        if since is None or changes is None:
            self._compare(snapshot, division, report)
            return
        deleted: list[str] = []
        for page in _in_pages(chunk for chunk in changes if chunk.row_key not in division.held):
            deleted += [chunk.chunk_id for chunk in page if chunk.deleted]
            present = [chunk for chunk in page if not chunk.deleted]
            # The point of a row that was ahead may have another text.
            is_whole = [
                chunk.content_revision > since.revision or chunk.row_key in division.touched
                for chunk in present
            ]
            self._upsert([one for one, whole in zip(present, is_whole, strict=True) if whole], report)
            self._set_fields([one for one, whole in zip(present, is_whole, strict=True) if not whole], report)
        self._delete(deleted, report)
        self._restore(snapshot, division.uncertain, report)

    def _restore(self, snapshot: ChunkSnapshot, keys: Collection[str], report: SyncReport) -> None:
        """Set rows back to their chunks."""
        if keys:
            points = sorted(self._index.load(sorted(keys)), key=lambda point: point.chunk_id)
            states = (
                PointState(one.chunk_id, one.row_key, one.content_hash, one.fields_hash) for one in points
            )
            self._repair(snapshot, compare_states(keep_rows(snapshot.iter_states(), keys), states), report)

    def _compare(self, snapshot: ChunkSnapshot, division: Division, report: SyncReport) -> None:
        if not self._index.count():
            for page in _in_pages(snapshot.iter_chunks(None)):
                self._upsert(page, report)
                if report.upserted % (PAGE * _PAGES_A_LINE) == 0:
                    _log.info("the new index has %d chunks", report.upserted)
            return
        report.compared = True
        wanted = skip_rows(snapshot.iter_states(), division.held)
        found = compare_states(wanted, skip_rows(self._index.iter_states(), division.held))
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


def _parse(stored: Checkpoint | None) -> SyncPosition | None:
    return parse_position(stored.position) if stored else None


def _in_pages(items: Iterable[_T]) -> Iterator[list[_T]]:
    remaining = iter(items)
    while page := list(islice(remaining, PAGE)):
        yield page

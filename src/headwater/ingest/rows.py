"""`HudiRows`: the rows of one data table, committed together with its checkpoint."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from headwater.capture.position import BEGINNING, Position
from headwater.config.table import TableConfig
from headwater.ingest.changes.effects import ChangeEffects
from headwater.ingest.changes.rules import ChangeRules
from headwater.ingest.changes.tombstones import Tombstones
from headwater.ingest.committed_state import (
    CommittedState,
    check_adopted,
    load_metadata,
    name_version,
    resume_progress,
    resume_state,
    with_columns,
)
from headwater.ingest.planning.outcome import ContentState
from headwater.ingest.planning.outdated import Outdated
from headwater.ingest.planning.progress import Progress
from headwater.ingest.reading.batch_read import BatchRead
from headwater.ingest.reading.failures import explained_read
from headwater.ingest.record_source import RecordSource
from headwater.ingest.writing.set_rows import SetVersion
from headwater.ingest.writing.stored_contents import StoredContents
from headwater.ingest.writing.table_writer import TableWriter
from headwater.lake.table import Table
from headwater.observability.crash_points import crash_point
from headwater.observability.tracing.traces import span
from headwater.sources.object_store import ObjectRef

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RowParts:
    """The components that build and compare a table's rows. `find_latest` as in `progress.begin`."""

    source: RecordSource
    contents: StoredContents
    now: Callable[[], datetime]
    tombstones: Tombstones | None = None
    find_latest: Callable[[], Position] = lambda: BEGINNING


class HudiRows:
    """See `headwater.ingest.ports.Rows`.

    `adopts_rules`: from the next commit on, the table counts as filled by the current configuration's rules.
    """

    def __init__(
        self, name: str, config: TableConfig, table: Table, parts: RowParts, *, adopts_rules: bool = False
    ) -> None:
        self._name = name
        self._config = config
        self._table = table
        self._source = parts.source
        self._contents = parts.contents
        self._now = parts.now
        self._tombstones = parts.tombstones
        self._find_latest = parts.find_latest
        self._changes = ChangeRules.of(name, config)
        self._adopts_rules = adopts_rules
        self._writer = TableWriter(name, config, table)
        self._state: CommittedState | None = None

    def load_state(self) -> CommittedState:
        """Return the state in the newest commit with a checkpoint, cached. Raises `TableMismatchError`."""
        if self._state is None:
            with explained_read(self._name):
                found = load_metadata(self._name, self._table)
                if found is None:
                    check_adopted(self._name, self._config, self._table)
                order = self._changes.order if self._changes else ""
                state = resume_state(self._name, found, self._config.index, order)
                progress = resume_progress(found, self._config.start_from, self._find_latest)
            state = replace(state, checkpoint=progress.checkpoint, skipped=progress.skipped)
            if self._choose_rules(state) != self._config.rules:
                # New events follow the new rules; existing rows keep theirs until a user decides.
                _log.warning("table %s: path or filters have changed; see `headwater routing`", self._name)
            self._state = state
        return self._state

    def _choose_rules(self, state: CommittedState) -> str:
        return self._config.rules if self._adopts_rules else state.rules or self._config.rules

    def load_checkpoint(self) -> Position:
        """See `Rows`."""
        return self.load_state().checkpoint

    def check_backlog(self) -> None:
        """See `Rows`."""
        with explained_read(self._name):
            self._writer.check_backlog()

    def find_ingested(self, refs: Sequence[ObjectRef]) -> Mapping[ContentState, int]:
        """See `Rows`."""
        return self._contents.find_ingested(refs)

    def write(
        self,
        read: BatchRead | None,
        outdated: Sequence[Outdated],
        checkpoint: Position,
        metadata: Mapping[str, str],
        *,
        is_new: bool,
    ) -> bool:
        """See `Rows`."""
        with span("commit rows"), explained_read(self._name):
            state = self._build_state(checkpoint)
            if read and not self._source.is_provisional:
                state = self._add_columns(state)
            if read and read.effects:
                state = replace(state, change_shape=read.effects.shape)
                self._write_tombstones(read.effects)
            outdated_rows = self._contents.list_outdated_rows(outdated)
            committed = self._writer.write(
                read, outdated_rows, {**state.to_metadata(), **metadata}, is_new=is_new
            )
        if committed:
            self._state = state
        return committed

    def write_set(
        self,
        read: BatchRead | None,
        version: SetVersion,
        checkpoint: Position,
        build_metadata: Callable[[int], Mapping[str, str]],
    ) -> bool:
        """See `SetRows`."""
        with span("commit rows"), explained_read(self._name):
            state = self._build_state(checkpoint)
            if read and not self._source.is_provisional:
                state = self._add_columns(state)
            committed = self._writer.write_set(
                read, version, lambda rows: {**state.to_metadata(), **build_metadata(rows)}
            )
        if committed:
            self._state = state
        return committed

    def _write_tombstones(self, effects: ChangeEffects) -> None:
        # Before the rows: after a crash, the same batch makes the same deletes.
        if self._tombstones is not None:
            with span("commit tombstones"):
                self._tombstones.record(effects, self._now())
            crash_point("after_tombstones_commit")

    def write_checkpoint(self, checkpoint: Position, build_metadata: Callable[[], Mapping[str, str]]) -> bool:
        """See `Rows`."""
        known = self.load_state()
        is_unchanged = checkpoint == known.checkpoint and self._choose_rules(known) == known.rules
        with explained_read(self._name):
            if is_unchanged or not self._table.load_timeline().has_commits():
                return False
            state = self._build_state(checkpoint)
            with span("commit checkpoint"):
                self._writer.write_checkpoint({**state.to_metadata(), **build_metadata()})
        self._state = state
        return True

    def has_commits(self) -> bool:
        """True if the table has a commit. Raises `LakeError`."""
        with explained_read(self._name):
            return self._table.load_timeline().has_commits()

    def write_progress(self, progress: Progress) -> None:
        """Commit another checkpoint and other skipped events, without rows; a table without commits stays so.

        Raises `LakeError`.
        """
        state = replace(self._build_state(progress.checkpoint), skipped=progress.skipped)
        if self.has_commits():
            with explained_read(self._name):
                self._writer.write_checkpoint(state.to_metadata())
            self._state = state

    def _build_state(self, checkpoint: Position) -> CommittedState:
        state = name_version(self.load_state(), self._table)
        return replace(state, checkpoint=checkpoint, rules=self._choose_rules(state))

    def _add_columns(self, state: CommittedState) -> CommittedState:
        source = self._source
        return with_columns(state, source.schema, source.rescued_column, source.brought_by, self._now())

    def forget(self) -> None:
        """See `Rows`."""
        self._state = None
        if self._tombstones is not None:
            self._tombstones.forget()

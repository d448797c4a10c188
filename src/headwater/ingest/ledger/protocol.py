"""Requirements of a table's ledger: the table's commits, their events, and stored states."""

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from headwater.capture.position import Position
from headwater.capture.stored_event import EventPage, StoredEvent
from headwater.ingest.ledger.watermark import Watermark
from headwater.ingest.planning.ledger_entry import LedgerEntry


class CompletedCommit(Protocol):
    """One commit, by the instants at which it was requested and completed."""

    @property
    def completed(self) -> str:
        """The completion time, which orders commits."""
        ...

    @property
    def requested(self) -> str:
        """The requested time, which names the commit."""
        ...


class CommitHistory(Protocol):
    """A snapshot of a table's timeline, including the archive. Every method raises `LakeError`."""

    def exists(self) -> bool:
        """True if the table exists."""
        ...

    def has_completed(self, completed: str) -> bool:
        """True if a commit was completed then."""
        ...

    def iter_metadata(self, after: str) -> Iterator[tuple[CompletedCommit, Mapping[str, str]]]:
        """Yield the commits completed later, in order, with headwater's metadata."""
        ...


class CommittedTable(Protocol):
    """The commits of a data table."""

    def load_timeline(self) -> CommitHistory:
        """Load the timeline."""
        ...


class EventLog(Protocol):
    """The events table. Every method raises `LakeError`."""

    def read_after(self, position: Position, max_events: int) -> EventPage:
        """Return the events after an offset, in order."""
        ...

    def find_events(self, event_ids: Collection[str]) -> Mapping[str, StoredEvent]:
        """Return the events that the table has, by id."""
        ...


class StateWatermarks(Protocol):
    """The watermark of each table's stored states. Raises `LakeError`."""

    def find_watermark(self, table: str) -> Watermark:
        """Return the newest commit that the states of a table include."""
        ...


class WritableStates(StateWatermarks, Protocol):
    """States of objects, stored by table and object. Every method raises `LakeError`."""

    def write(self, table: str, states: Collection[LedgerEntry], watermark: Watermark) -> None:
        """Store the states of a table's objects, and the watermark, in one commit."""
        ...

    def forget(self, table: str) -> None:
        """Remove all states of a table, and its watermark."""
        ...

    def iter_texts(self, table: str) -> Iterator[tuple[str, str]]:
        """Yield all states of a table: object id and the text of the state by `state_text`."""
        ...


class ReadableStates(StateWatermarks, Protocol):
    """The stored states for readers."""

    def read_states(self, table: str, object_ids: Collection[str]) -> dict[str, LedgerEntry]:
        """Return the states of some objects of a table, by object id."""
        ...

"""What the ledger of one table needs: the commits of the table, the events they name, and stored states."""

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from headwater.capture.position import Position
from headwater.capture.stored_event import EventPage, StoredEvent
from headwater.ingest.ledger.mark import Mark
from headwater.ingest.planning.ledger_entry import LedgerEntry


class CompletedCommit(Protocol):
    """One commit, by the instants at which it was requested and completed."""

    @property
    def completed(self) -> str:
        """When it was completed, by which commits are in order."""
        ...

    @property
    def requested(self) -> str:
        """When it was requested, which is its name."""
        ...


class CommitHistory(Protocol):
    """One look at the timeline of a table, the archived part included. Every method raises `LakeError`."""

    def exists(self) -> bool:
        """Return whether there is a table."""
        ...

    def has_completed(self, completed: str) -> bool:
        """Return whether a commit was completed then."""
        ...

    def iter_metadata(self, after: str) -> Iterator[tuple[CompletedCommit, Mapping[str, str]]]:
        """Iterate over the commits completed later, in their order, with what headwater wrote into them."""
        ...


class CommittedTable(Protocol):
    """A data table, as far as its commits are concerned."""

    def load_timeline(self) -> CommitHistory:
        """Look at the timeline."""
        ...


class EventLog(Protocol):
    """The events table. Every method raises `LakeError`."""

    def read_after(self, position: Position, max_events: int) -> EventPage:
        """Return the events behind a position, in their order."""
        ...

    def find_events(self, event_ids: Collection[str]) -> Mapping[str, StoredEvent]:
        """Return those of the events that the table has, by id."""
        ...


class StateMarks(Protocol):
    """How far the stored states of each table go. Raises `LakeError`."""

    def find_mark(self, table: str) -> Mark:
        """Return the newest commit that the states of a table include."""
        ...


class WritableStates(StateMarks, Protocol):
    """States of objects, stored by table and object. Every method raises `LakeError`."""

    def write(self, table: str, states: Collection[LedgerEntry], mark: Mark) -> None:
        """Store the states of a table's objects, and the mark, in one commit."""
        ...

    def forget(self, table: str) -> None:
        """Remove all states of a table, and its mark."""
        ...

    def iter_texts(self, table: str) -> Iterator[tuple[str, str]]:
        """Iterate over all states of a table: object id, and what `state_text` makes of the state."""
        ...


class ReadableStates(StateMarks, Protocol):
    """The same for those who only read."""

    def read_states(self, table: str, object_ids: Collection[str]) -> dict[str, LedgerEntry]:
        """Return the states of some objects of a table, by object id."""
        ...

"""The ports of a table's pipeline to external systems.

A run implements them with Spark, Hudi and the source. The simulator implements them itself and runs the same
pipeline.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from headwater.capture.position import Position
from headwater.capture.quarantine_item import QuarantineItem, Resolved
from headwater.capture.stored_event import EventPage
from headwater.errors import HeadwaterError
from headwater.ingest.ledger.table_ledger import TableLedger
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.outcome import ContentState, ObjectOutcome
from headwater.ingest.planning.outdated import Outdated
from headwater.ingest.reading.resolution import FindIngested
from headwater.observability.crash_points import CrashPointName
from headwater.sources.object_store import ObjectRef

Settle = Callable[[ObjectOutcome], ObjectOutcome]
"""Converts the result of reading an object to the table's outcome."""


class ObjectsRead(Protocol):
    """The result of reading one batch's objects: outcomes by object index, and their records."""

    @property
    def outcomes(self) -> Sequence[tuple[int, ObjectOutcome]]:
        """One outcome for each object, with the index of its records."""
        ...

    def release(self) -> None:
        """Free the records."""
        ...


ReadT = TypeVar("ReadT", bound=ObjectsRead)
_ReadT_co = TypeVar("_ReadT_co", bound=ObjectsRead, covariant=True)
_ReadT_contra = TypeVar("_ReadT_contra", bound=ObjectsRead, contravariant=True)


class Events(Protocol):
    """The events table."""

    def read_after(self, position: Position, max_events: int) -> EventPage:
        """Return the events after an offset, in order. Raises `LakeError`."""
        ...


class Objects(Protocol[_ReadT_co]):
    """The objects of the source, as records of the table. Used by one thread."""

    def read(self, decisions: Sequence[Decision], find_ingested: FindIngested, settle: Settle) -> _ReadT_co:
        """Read the object of each decision; `find_ingested` as in `resolve_reads`.

        Raises `LakeError`, `SourceError`, `IngestError` and `TransformError`.
        """
        ...

    @property
    def most_objects(self) -> int:
        """The maximum number of objects in a batch: smaller after one failed because of its data."""
        ...

    def isolate(self, error: HeadwaterError) -> bool:
        """Handle a failure of the last batch read; return whether the next attempt may succeed.

        If it failed because of its data, a large batch is halved. The bad parts of a small one are found and
        excluded from then on.
        """
        ...

    def note_committed(self) -> None:
        """Record the commit of the batch: its excluded parts concern no other batch."""
        ...

    def take_warnings(self) -> tuple[str, ...]:
        """Return failed checks that only warn, since the last call."""
        ...


class Rows(Protocol[_ReadT_contra]):
    """The rows of the data table, and its checkpoint. Every method raises `LakeError`."""

    def load_checkpoint(self) -> Position:
        """Return the checkpoint of the newest commit that has one; looked up once.

        Raises `TableMismatchError` if the table does not match its configuration.
        """
        ...

    def check_backlog(self) -> None:
        """Raise `BacklogError` if table services are too far behind for another batch."""
        ...

    def find_ingested(self, refs: Sequence[ObjectRef]) -> Mapping[ContentState, int]:
        """Return the contents of the objects that have rows, and how many rows per write of each."""
        ...

    def write(
        self,
        read: _ReadT_contra | None,
        outdated: Sequence[Outdated],
        checkpoint: Position,
        metadata: Mapping[str, str],
        *,
        is_new: bool,
    ) -> bool:
        """Commit new rows, the removal of outdated ones and the checkpoint atomically.

        Without rows of either kind it commits nothing and returns False. `is_new` guarantees that the table
        has no row of any of the objects.
        """
        ...

    def write_checkpoint(self, checkpoint: Position, build_metadata: Callable[[], Mapping[str, str]]) -> bool:
        """Commit the checkpoint without rows; False if the table already has it, or has no commit yet.

        Only a commit builds the metadata, which grows with the outcomes that it carries.
        """
        ...

    def forget(self) -> None:
        """Drop cached table state: it is unknown whether the last commit is complete."""
        ...


class Rejects(Protocol[_ReadT_contra]):
    """The quarantine of one table."""

    def write(self, items: Sequence[QuarantineItem], read: _ReadT_contra | None) -> None:
        """Commit unusable objects, and the bad records of those read. Raises `LakeError`."""
        ...

    def resolve(self, objects: Collection[Resolved], but: Collection[str]) -> None:
        """Remove the items about the objects, except those of the events `but`. Raises `LakeError`."""
        ...


@dataclass(frozen=True, slots=True)
class Ports(Generic[ReadT]):
    """All ports. The ledger is rebuilt whenever the last commit is unknown."""

    events: Events
    objects: Objects[ReadT]
    rows: Rows[ReadT]
    rejects: Rejects[ReadT]
    build_ledger: Callable[[], TableLedger]
    now: Callable[[], datetime]
    reach: Callable[[CrashPointName], None]

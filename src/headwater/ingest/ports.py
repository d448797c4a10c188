"""What the pipeline of a table needs of the world around it.

A run plugs in Spark, Hudi and the source; the simulator plugs in its own world, and drives the same pipeline.
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
from headwater.ingest.object_stores.protocol import ObjectRef
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.outcome import ContentState, ObjectOutcome
from headwater.ingest.planning.outdated import Outdated
from headwater.ingest.reading.resolution import FindIngested
from headwater.observability.crash_points import CrashPointName

Settle = Callable[[ObjectOutcome], ObjectOutcome]
"""What reading an object means to the table."""


class ObjectsRead(Protocol):
    """What reading the objects of one batch gave: outcomes by object index, and the records behind them."""

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
        """Return the events behind a position, in their order. Raises `LakeError`."""
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
        """How many objects a batch may have: fewer than usual after one failed because of its data."""
        ...

    def isolate(self, error: HeadwaterError) -> bool:
        """After the batch that was read last has failed: whether the next attempt may pass.

        If it failed because of its data, a large batch is halved, and of a small one what is bad is found and
        left out from now on.
        """
        ...

    def note_committed(self) -> None:
        """The batch is committed: what was left out of it concerns no other one."""
        ...

    def take_warnings(self) -> tuple[str, ...]:
        """Return the checks that records did not pass, and that only warn, since the last call."""
        ...


class Rows(Protocol[_ReadT_contra]):
    """The rows of the data table, and its checkpoint. Every method raises `LakeError`."""

    def load_checkpoint(self) -> Position:
        """Return the checkpoint of the newest commit that has one; looked up once.

        Raises `TableMismatchError` if the table is not what its configuration says.
        """
        ...

    def find_ingested(self, refs: Sequence[ObjectRef]) -> Mapping[ContentState, int]:
        """Return the contents of the objects that have rows, and how many rows a write of each."""
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
        """Commit new rows, the removal of outdated ones and the checkpoint at once.

        Without rows of either kind it commits nothing and returns False. `is_new` promises that the table has
        no row of any of the objects.
        """
        ...

    def write_checkpoint(self, checkpoint: Position, metadata: Mapping[str, str]) -> bool:
        """Commit the checkpoint without rows; False if the table says so already, or has no commit yet."""
        ...

    def forget(self) -> None:
        """Ask the table again for what it was asked before: nobody knows whether a commit is complete."""
        ...


class Rejects(Protocol[_ReadT_contra]):
    """The quarantine of one table."""

    def write(self, items: Sequence[QuarantineItem], read: _ReadT_contra | None) -> None:
        """Commit objects that cannot be used, and the bad records of those read. Raises `LakeError`."""
        ...

    def resolve(self, objects: Collection[Resolved], but: Collection[str]) -> None:
        """Remove the items about the objects, except those of the events `but`. Raises `LakeError`."""
        ...


@dataclass(frozen=True, slots=True)
class Ports(Generic[ReadT]):
    """All of them. A ledger is built anew whenever it is not known which commit was the last."""

    events: Events
    objects: Objects[ReadT]
    rows: Rows[ReadT]
    rejects: Rejects[ReadT]
    build_ledger: Callable[[], TableLedger]
    now: Callable[[], datetime]
    reach: Callable[[CrashPointName], None]

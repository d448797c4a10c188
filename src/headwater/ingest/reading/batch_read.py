"""Reads the objects of one batch into one frame of records."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row

from headwater.capture.stored_event import StoredEvent
from headwater.ingest.changes.effects import ChangeEffects
from headwater.ingest.misfits.finder import MisfitFinder
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.ingest.reading.object_reader import Records, scan_records
from headwater.ingest.reading.recomputation import fail_if_changed
from headwater.ingest.reading.resolution import FindIngested, ReadRequest, SeenObject, resolve_reads
from headwater.lake.executors import has_executors

ReadObjects = Callable[[Sequence[ReadRequest]], Records]


@dataclass(frozen=True, slots=True)
class BatchRead:
    """`records` are persisted until `release`; outcomes carry the `object_index` of their records.

    `samples` have columns that the table lacks: see `evolution.schema_sample`. `bad` as in `SeenRecords`.
    `effects` are those of change records. `misfits` finds what is wrong with bad records.
    """

    records: DataFrame | None
    outcomes: tuple[tuple[int, ObjectOutcome], ...]
    frames: tuple[DataFrame, ...]
    samples: tuple[tuple[StoredEvent, str], ...] = ()
    bad: Sequence[Row] | None = None
    effects: ChangeEffects | None = None
    misfits: MisfitFinder = field(default_factory=MisfitFinder)

    def release(self) -> None:
        """Free the records."""
        for frame in self.frames:
            frame.unpersist()


def read_batch(decisions: Sequence[Decision], read: ReadObjects, find_ingested: FindIngested) -> BatchRead:
    """Read each event's object: see `resolve_reads`."""
    reads = _Reads(read)
    try:
        resolved = resolve_reads(decisions, reads.fetch, find_ingested)
    except BaseException:
        for frame in reads.frames:
            frame.unpersist()
        raise
    samples = [(entry.outcome.stored, entry.sample) for entry in resolved if entry.sample]
    return BatchRead(
        reduce(DataFrame.unionByName, reads.records) if reads.records else None,
        tuple((entry.object_index, entry.outcome) for entry in resolved),
        tuple(reads.frames),
        tuple(sorted(samples, key=lambda found: found[0].position)),
        reads.bad,
        misfits=reads.misfits,
    )


class _Reads:
    """Reads objects into frames, which it keeps; `records` are their rows.

    `bad` is None if there are too many.
    """

    def __init__(self, read: ReadObjects) -> None:
        self._read = read
        self.frames: list[DataFrame] = []
        self.records: list[DataFrame] = []
        self.bad: list[Row] | None = []
        self.misfits = MisfitFinder()

    def fetch(self, requests: Sequence[ReadRequest]) -> Mapping[int, SeenObject]:
        records = self._read(requests)
        if not records.is_at_hand:
            records.frame.persist(StorageLevel.MEMORY_AND_DISK)
        self.frames.append(records.frame)
        self.misfits = records.misfits
        seen = scan_records(records)
        can_be_lost = not records.is_at_hand and has_executors(records.frame.sparkSession)
        self.records.append(fail_if_changed(records.frame, seen.objects) if can_be_lost else records.frame)
        self.bad = None if self.bad is None or seen.bad is None else [*self.bad, *seen.bad]
        return seen.objects

"""`clean_source` with the real decision of `headwater.ingest.cleaning`: announce, then act."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import NamedTuple

from headwater.capture.listers.protocol import ListedObject
from headwater.capture.object_event import ObjectEvent
from headwater.capture.own_events import CLEANED_EVENT, build_own_event, with_content
from headwater.capture.quarantine_item import QuarantineItem
from headwater.ingest.cleaning.decision import Claim, CleanDecision, CleanPolicy, decide_cleaning
from headwater.ingest.planning.verification import Known
from simulator.bugs import Bugs
from simulator.outside.bucket import BUCKET, Bucket, Record
from simulator.outside.clock import SimulatedClock
from simulator.outside.crash import Crashes
from simulator.outside.hudi import HudiTable
from simulator.product.data_rows import DataRow, TableKind, build_rules, count_rows
from simulator.product.events_table import SimulatedEventsTable
from simulator.product.pipeline import SimulatedPipeline

_POLICY = CleanPolicy("delete", timedelta())


class CleanPlaces(NamedTuple):
    """What a pass looks at, and where it tells of what it does."""

    bucket: Bucket
    events: SimulatedEventsTable
    quarantine: HudiTable[QuarantineItem]
    data: dict[TableKind, HudiTable[DataRow]]
    clock: SimulatedClock
    crashes: Crashes
    bugs: Bugs
    notify: Callable[[Record], None]


class SimulatedCleaning:
    """The memory of one pass: a crash begins it anew. `on_due` and `on_clean` are told of keys beforehand."""

    def __init__(
        self,
        places: CleanPlaces,
        pipelines: Sequence[SimulatedPipeline],
        on_due: Callable[[str], None],
        on_clean: Callable[[str], None],
    ) -> None:
        self._places = places
        self._pipelines = pipelines
        self._on_due = on_due
        self._on_clean = on_clean
        self._due: list[CleanDecision] | None = None
        self._is_announced = False

    @property
    def is_idle(self) -> bool:
        return self._due is None

    def step(self, is_settled: Callable[[str], bool]) -> str:
        """Decide, then announce, then act on one object; gives what was done.

        `is_settled`: whether everything that happened to the key has been heard of. In the real world that is
        what the delay is for.
        """
        if self._due is None:
            for pipeline in self._pipelines:
                # Between two passes there is time for that.
                pipeline.save_checkpoint()
            found = [self._decide(listed) for listed in self._places.bucket.list_objects()]
            self._due = [d for d in found if d.reason == "due" and is_settled(d.listed.key)]
            self._is_announced = False
            for decision in self._due:
                self._on_due(decision.listed.key)
            return ", ".join(f"{d.listed.key!r} {d.reason}" for d in found)
        if not self._is_announced:
            due, self._due = self._due, None
            if "cleaned_before_announced" not in self._places.bugs:
                # A commit that fails ends the pass.
                self._announce(due)
            self._due, self._is_announced = due, True
            return "announced"
        if not self._due:
            self._due = None
            return "over"
        return self._act(self._due.pop(0))

    def _announce(self, due: Sequence[CleanDecision]) -> None:
        now = self._places.clock.next_moment()
        fresh = [decision for decision in due if not decision.is_announced]
        events = [build_own_event(CLEANED_EVENT, "s3", BUCKET, d.listed.key, now) for d in fresh]
        self._places.events.append(
            [with_content(event, "other", d.listed.etag) for event, d in zip(events, fresh, strict=True)]
        )
        self._places.crashes.at("cleaning announced")

    def _act(self, decision: CleanDecision) -> str:
        listed, bucket = decision.listed, self._places.bucket
        live = bucket.find_live(listed.key)
        if live is None:
            return "gone"
        is_same = live.etag == listed.etag and live.at.replace(microsecond=0) == listed.last_modified
        if not is_same and "changed_object_cleaned" not in self._places.bugs:
            return "changed"
        self._on_clean(listed.key)
        self._places.notify(bucket.remove(listed.key))
        self._places.crashes.at("object cleaned")
        return "cleaned"

    def _decide(self, listed: ListedObject) -> CleanDecision:
        claims = [self._build_claim(pipeline, listed.key) for pipeline in self._pipelines]
        if "one_table_is_enough" in self._places.bugs:
            claims = claims[:1]
        return decide_cleaning(listed, claims, _POLICY, self._places.clock.next_moment())

    def _build_claim(self, pipeline: SimulatedPipeline, key: str) -> Claim:
        kind = pipeline.kind
        object_id = _find_object_id(key)
        checkpoint = pipeline.load_checkpoint()
        waits = any(
            stored.event.key == key and stored.position > checkpoint
            for stored in self._places.events.iter_all()
        )
        items = [i for i in self._places.quarantine.peek() if i.table == kind and i.key == key]
        rows = count_rows(self._places.data[kind].peek(), {key}).get(key, {})
        entry = pipeline.ledger.find_states({object_id}).get(object_id)
        rules = build_rules(kind)
        # What was quarantined before may have been put anew since: the entry tells.
        quarantined = items[0].reason if items and entry is None else None
        return Claim(Known(entry, rows, waits, quarantined), rules)


def _find_object_id(key: str) -> str:
    now = SimulatedClock().now()
    return ObjectEvent("s3", BUCKET, key, None, None, None, "created", "", now, None, None).object_id

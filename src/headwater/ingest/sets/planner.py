"""`SetPlanner`: decides about the events of a table whose files count only as complete sets."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Final

from headwater.capture.stored_event import StoredEvent
from headwater.config.table.file_sets import CompleteWhen
from headwater.errors import LakeError, SourceError
from headwater.ingest.planning.decision import Decision, Reason, is_folder_marker
from headwater.ingest.planning.ledger_entry import LedgerEntry
from headwater.ingest.planning.observation import (
    CONTENT_KINDS,
    is_drop,
    is_request,
    is_retract,
    order_events,
)
from headwater.ingest.sets.completeness import (
    CompleteSet,
    Contents,
    ListedSet,
    OpenSet,
    await_end,
    gather,
    judge_set,
)
from headwater.ingest.sets.manifest import MAX_MANIFEST_BYTES, ManifestError, parse_manifest
from headwater.ingest.sets.names import SetNames, order_name
from headwater.ingest.sets.ports import SetSource
from headwater.ingest.sets.progress import SetProgress
from headwater.sources.lister import ListedObject
from headwater.sources.object_event import build_object_id, is_same_etag

DROPPED: Final = "dropped"
_LONG_AGO = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TICK = timedelta(milliseconds=1)

FindStates = Callable[[Collection[str]], Mapping[str, LedgerEntry]]


@dataclass(frozen=True, slots=True)
class ChosenSet:
    """The set that the table becomes equal to. `time` is later than that of an earlier set. `etags` are those
    of the listed files, by object id. `is_accepted`: a user has accepted it, however small it is.
    """

    name: str
    time: datetime
    etags: Mapping[str, str]
    is_accepted: bool


@dataclass(frozen=True, slots=True)
class SetPlan:
    """The decisions about a batch. `progress` is that of the table after it, without the rows of `chosen`."""

    decisions: tuple[Decision, ...]
    states: Mapping[str, LedgerEntry]
    progress: SetProgress
    chosen: ChosenSet | None = None


@dataclass(frozen=True, slots=True)
class SetRules:
    """When a set is complete, and what its files are called. `keeps_history`: each set is applied, in order,
    and not only the newest.
    """

    rule: CompleteWhen
    names: SetNames
    keeps_history: bool

    def identify(self, key: str) -> str:
        """Return the id of an object of the source."""
        location = self.names.location
        return build_object_id(location.provider, location.bucket, key)


class SetPlanner:
    """Decides which set is next. Used by one thread.

    A set is judged by a listing of its folder, not by events, which arrive in any order: a marker may be
    reported before its files. It is judged when one of its events arrives, and at the start of a run; one
    that lacks its marker or manifest, when that arrives.
    """

    def __init__(self, rules: SetRules, source: SetSource, now: Callable[[], datetime]) -> None:
        self._rules = rules
        self._source = source
        self._now = now
        self._progress: SetProgress | None = None
        self._due: dict[str, datetime] = {}
        self._due_after: dict[str, datetime] = {}
        self._held: set[str] = set()
        self._unended: set[str] = set()

    @property
    def progress(self) -> SetProgress:
        """The progress of the table, cached. Raises `LakeError`."""
        if self._progress is None:
            self._progress = self._source.load_progress()
            self._due = dict.fromkeys(self._progress.open, _LONG_AGO)
        return self._progress

    def is_due(self) -> bool:
        """True if a set may be complete without another event. Raises `LakeError`."""
        names, now = self.progress.open, self._now()
        return any(name in names and due <= now for name, due in self._due.items())

    def forget(self) -> None:
        """Load the progress again: the last commit may have failed."""
        self._progress = None
        self._unended = set()

    def note(self, progress: SetProgress) -> None:
        """Record the progress after a batch. Until then, the same sets are due: the batch may fail."""
        self._progress = progress
        self._due = self._due_after

    def note_held(self, name: str) -> None:
        """Record that a set is held back because it is small, so that it is not read again and again."""
        self._held.add(name)

    def plan(self, events: Sequence[StoredEvent], find_states: FindStates) -> SetPlan:
        """Decide about the events of a batch, and the files of a set that it completes.

        Raises `SourceError` and `LakeError`.
        """
        events = list({stored.event_id: stored for stored in events}.values())
        progress, now, by_name = self.progress, self._now(), self._group(events)
        due = {name for name, when in self._due.items() if when <= now}
        judged = {
            name: self._wait_for_end(name, by_name.get(name, ())) or self._judge(name, now)
            for name in sorted({*by_name, *due}, key=order_name)
            if not progress.applied or order_name(name) >= order_name(progress.applied)
        }
        self._note_open(judged)
        asked = [name for name in judged if any(is_request(s.event) for s in by_name.get(name, ()))]
        progress = progress.accept(name for name in asked if name != progress.applied)
        choice = _Choice(self._rules, progress, self._held, by_name, find_states, self._source.find_events)
        waiting, chosen = choice.choose(judged)
        progress = self._advance(progress, judged, waiting, chosen)
        states = find_states({*(s.event.object_id for s in events), *(chosen.etags if chosen else ())})
        decided = self._decide(events, states, progress, chosen)
        decisions = [*decided, *choice.look(decided, chosen, states)]
        return SetPlan(tuple(decisions), states, progress, chosen)

    def _group(self, events: Iterable[StoredEvent]) -> dict[str, list[StoredEvent]]:
        by_name: dict[str, list[StoredEvent]] = {}
        for stored in events:
            found = self._rules.names.find(stored.event.key)
            if found is not None and not is_retract(stored.event):
                by_name.setdefault(found[0], []).append(stored)
        return by_name

    def _wait_for_end(self, name: str, events: Sequence[StoredEvent]) -> OpenSet | None:
        """Return the set if it needs no listing: while its files arrive, each batch would list them all."""
        end = self._rules.rule.marker or self._rules.rule.manifest
        if end is None or name in self._due or any(self._may_end(stored) for stored in events):
            return None
        if name in self.progress.open:
            return OpenSet(name, self.progress.open[name], awaits_end=True) if name in self._unended else None
        return await_end(name, end) if name != self.progress.applied else None

    def _may_end(self, stored: StoredEvent) -> bool:
        found = self._rules.names.find(stored.event.key)
        is_end = found is not None and found[1] != "file"
        return is_end or is_request(stored.event) or is_drop(stored.event)

    def _judge(self, name: str, now: datetime) -> CompleteSet | OpenSet:
        found = gather(name, self._source.list_files(name), self._rules.names)
        try:
            contents = self._read_manifest(found)
        except ManifestError as error:
            key = found.manifest.key if found.manifest else name
            return OpenSet(name, f"its manifest {key!r} cannot be read: {error}")
        return judge_set(found, self._rules.rule, contents, now)

    def _note_open(self, judged: Mapping[str, CompleteSet | OpenSet]) -> None:
        found = [one for one in judged.values() if isinstance(one, OpenSet)]
        self._unended = (self._unended - judged.keys()) | {one.name for one in found if one.awaits_end}
        self._due_after = {name: when for name, when in self._due.items() if name not in judged}
        self._due_after |= {one.name: one.due for one in found if one.due is not None}

    def _read_manifest(self, found: ListedSet) -> Contents | None:
        if found.manifest is None:
            return None
        if found.manifest.size > MAX_MANIFEST_BYTES:
            raise ManifestError(f"it has {found.manifest.size:,} bytes. Allowed: {MAX_MANIFEST_BYTES:,}")
        try:
            data = self._source.read_manifest(found.manifest)
        except SourceError as error:
            if error.retryable:
                raise
            raise ManifestError(error.message) from error
        return parse_manifest(data, found.name, self._rules.names.location.bucket)

    def _advance(
        self,
        progress: SetProgress,
        judged: Mapping[str, CompleteSet | OpenSet],
        waiting: Mapping[str, str],
        chosen: ChosenSet | None,
    ) -> SetProgress:
        open_sets = {**progress.open, **waiting}
        for name, found in judged.items():
            if isinstance(found, OpenSet):
                open_sets[name] = found.missing
            elif name not in waiting and name not in self._held:
                open_sets.pop(name, None)
        if chosen is not None:
            self._due_after |= dict.fromkeys(waiting, _LONG_AGO)
        return replace(progress, open=open_sets)

    def _decide(
        self,
        events: Sequence[StoredEvent],
        states: Mapping[str, LedgerEntry],
        progress: SetProgress,
        chosen: ChosenSet | None,
    ) -> list[Decision]:
        last = {s.event.object_id: s for s in order_events(events, lambda stored: stored) if _may_name(s)}
        decisions = []
        for stored in events:
            object_id = stored.event.object_id
            is_chosen = chosen is not None and object_id in chosen.etags
            if is_chosen and last.get(object_id) is stored:
                decisions.append(Decision(stored, "look"))
            elif is_chosen and _may_name(stored):
                decisions.append(Decision(stored, "skip", "superseded"))
            else:
                reason = self._find_reason(stored, states.get(object_id), progress, chosen)
                detail = self._describe(stored, progress) if reason == "set_open" else ""
                decisions.append(Decision(stored, "skip", reason, detail=detail))
        return decisions

    def _describe(self, stored: StoredEvent, progress: SetProgress) -> str:
        found = self._rules.names.find(stored.event.key)
        return f"its set is not complete: {progress.open[found[0]]}" if found else ""

    def _find_reason(
        self,
        stored: StoredEvent,
        state: LedgerEntry | None,
        progress: SetProgress,
        chosen: ChosenSet | None,
    ) -> Reason:
        event = stored.event
        found = self._rules.names.find(event.key)
        if is_retract(event) or found is None:
            return "filtered"
        if event.kind not in CONTENT_KINDS:
            return "not_content"
        if is_drop(event):
            return DROPPED if state is None or state.status == "quarantined" else "superseded"
        if event.kind == "removed":
            return "removal_ignored"
        if found[1] != "file":
            return "set_end"
        if is_folder_marker(event):
            return "folder_marker"
        return _compare(found[0], state, progress, chosen.name if chosen else "")


class _Choice:
    """Chooses the next set among those that are complete."""

    def __init__(
        self,
        rules: SetRules,
        progress: SetProgress,
        held: Collection[str],
        by_name: Mapping[str, Sequence[StoredEvent]],
        find_states: FindStates,
        find_events: Callable[[Collection[str]], Mapping[str, StoredEvent]],
    ) -> None:
        self._rules = rules
        self._progress = progress
        self._held = held
        self._by_name = by_name
        self._find_states = find_states
        self._find_events = find_events

    def choose(self, judged: Mapping[str, CompleteSet | OpenSet]) -> tuple[dict[str, str], ChosenSet | None]:
        """Return what each complete set that is not applied yet waits for, by name, and the set to apply."""
        complete = [found for found in judged.values() if isinstance(found, CompleteSet)]
        complete.sort(key=lambda found: order_name(found.name), reverse=not self._rules.keeps_history)
        waiting: dict[str, str] = {}
        chosen: ChosenSet | None = None
        for found in complete:
            if chosen is not None:
                if found.name != self._progress.applied:
                    waiting[found.name] = f"{self._rules.names.show(chosen.name)} was chosen first"
                continue
            ids = {self._rules.identify(one.key): one for one in found.files}
            states = self._find_states(ids.keys())
            if not self._is_new(found.name, ids, states):
                continue
            if unknown := self._find_unknown(found.name, ids, states):
                waiting[found.name] = f"the events of {len(unknown)} files, such as {unknown[0]!r}"
                continue
            chosen = ChosenSet(
                found.name,
                self._choose_time(found),
                {object_id: one.etag for object_id, one in ids.items()},
                is_accepted=self._is_requested(found.name) or found.name in self._progress.accepted,
            )
        return waiting, chosen

    def _is_requested(self, name: str) -> bool:
        return any(is_request(stored.event) for stored in self._by_name.get(name, ()))

    def _is_new(
        self, name: str, files: Mapping[str, ListedObject], states: Mapping[str, LedgerEntry]
    ) -> bool:
        """True if the table differs from the set, as far as it has decided about it."""
        if self._is_requested(name) or name in self._progress.accepted:
            return True
        dropped = {s.event.object_id for s in self._by_name.get(name, ()) if is_drop(s.event)}
        dropped |= {object_id for object_id, state in states.items() if state.reason == DROPPED}
        is_decided = all(
            _is_decided(states.get(object_id), listed, is_dropped=object_id in dropped)
            for object_id, listed in files.items()
        )
        is_given_up = dropped >= files.keys()
        return not is_decided or not (is_given_up or name == self._progress.applied or name in self._held)

    def _find_unknown(
        self, name: str, files: Mapping[str, ListedObject], states: Mapping[str, LedgerEntry]
    ) -> list[str]:
        """Return the keys of files without an event: it will come, or a reconcile finds it."""
        named = {s.event.object_id for s in self._by_name.get(name, ()) if _may_name(s)}
        named |= {object_id for object_id, state in states.items() if state.event_id}
        return [one.key for object_id, one in files.items() if object_id not in named]

    def _choose_time(self, found: CompleteSet) -> datetime:
        before = self._progress.applied_at
        if before is None:
            return found.time
        return max(found.time, before if found.name == self._progress.applied else before + _TICK)

    def look(
        self, decided: Iterable[Decision], chosen: ChosenSet | None, states: Mapping[str, LedgerEntry]
    ) -> list[Decision]:
        """Return the decisions about files of the set whose events were in earlier batches."""
        if chosen is None:
            return []
        done = {decision.stored.event.object_id for decision in decided if decision.action == "look"}
        wanted = {states[object_id].event_id for object_id in chosen.etags if object_id not in done}
        found = self._find_events(wanted) if wanted else {}
        if wanted - found.keys():
            raise LakeError(
                f"{len(wanted - found.keys())} events of the set {chosen.name!r} are not in the events table",
                hint="restore the events table: headwater cannot rebuild the objects' history without it",
            )
        return [Decision(found[event_id], "look") for event_id in sorted(wanted)]


def _compare(name: str, state: LedgerEntry | None, progress: SetProgress, chosen: str) -> Reason:
    """Return why a file of a set is not read, given the sets in the table and those that are open."""
    if name == chosen:
        return "not_in_manifest"
    if name in progress.open:
        return "set_open"
    if name == progress.applied:
        return "already_ingested" if is_applied(state) else "not_in_manifest"
    return "set_superseded"


def _may_name(stored: StoredEvent) -> bool:
    """True if the event may be a reason to read its object."""
    event = stored.event
    return event.kind in CONTENT_KINDS and not (is_drop(event) or is_retract(event))


def _is_decided(state: LedgerEntry | None, listed: ListedObject, *, is_dropped: bool) -> bool:
    """True if the table has decided about this content as a part of a complete set."""
    if state is None:
        return False
    if is_dropped:
        return not state.etag or is_same_etag(state.etag, listed.etag)
    is_known = is_applied(state) or state.status == "quarantined"
    return is_known and is_same_etag(state.etag, listed.etag)


def is_applied(state: LedgerEntry | None) -> bool:
    """True if the object's rows are part of the set in the table; it may have none."""
    if state is None:
        return False
    return state.status == "ingested" or state.reason in ("no_records", "empty_object")

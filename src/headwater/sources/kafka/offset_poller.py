"""`OffsetPoller`: announces new messages of topics to a queue, as ranges of offsets."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import structlog

from headwater.config.source import KafkaSourceConfig
from headwater.errors import SourceError, SourceUnavailableError
from headwater.observability.clock import Clock, SystemClock
from headwater.sources.kafka.notifications import build_range_message
from headwater.sources.kafka.ranges import (
    Announcement,
    CapturedRanges,
    Fault,
    OffsetRange,
    Partition,
    PartitionState,
    advance,
    split_range,
)
from headwater.sources.kafka.topics import Topic, Topics
from headwater.sources.memory.queue import MemoryQueue

log = structlog.stdlib.get_logger(__name__)

_SEND_SECONDS = 0.25
# How often topics are described and matched against patterns.
_TOPICS_SECONDS = 5.0
_REPORT_SECONDS = 60.0
_START_ATTEMPTS = 5
_START_PAUSE_SECONDS = 1.0


class Group(Protocol):
    """A consumer group, in which captured offsets are committed."""

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Commit; best effort, raises nothing."""
        ...


@dataclass(slots=True)
class _Survey:
    """What the cluster has at one time."""

    states: dict[Partition, PartitionState] = field(default_factory=dict)
    errors: dict[str, SourceError] = field(default_factory=dict)


class OffsetPoller:
    """Sends a message for each range of offsets that is not captured yet.

    One thread at a time; call `announce_existing` before `run`. A message is lost with the process, so the
    lake says at each start what is missing. `incomplete` is why some topics could not be announced at the
    start. `report` receives why some cannot be now; an empty text if all can.
    """

    def __init__(
        self,
        config: KafkaSourceConfig,
        topics: Topics,
        captured: CapturedRanges,
        queue: MemoryQueue,
        clock: Clock | None = None,
        *,
        group: Group | None = None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._config = config
        self._topics = topics
        self._positions = dict(captured.positions)
        self._missing = list(captured.missing)
        self._queue = queue
        self._clock = clock or SystemClock()
        self._group = group
        self._report_state = report
        self.incomplete: SourceError | None = None
        self._stop = threading.Event()
        self._described: dict[str, Topic] = {}
        self._described_until = 0.0
        self._reported: dict[str, float] = {}
        self._committed: dict[Partition, int] = {}

    def announce_existing(self, stop: threading.Event | None = None) -> int:
        """Announce what is not captured yet; return the number of messages. Sets `incomplete`."""
        self._stop = stop or self._stop
        sent = sum(self._announce_missing(one) for one in self._missing)
        self._missing = []
        for attempt in range(1, _START_ATTEMPTS + 1):
            count, errors = self._poll()
            sent += count
            is_final = attempt == _START_ATTEMPTS or not all(error.retryable for error in errors.values())
            if not errors or self._stop.is_set():
                break
            if is_final:
                self.incomplete = next(iter(errors.values()))
                break
            self._pause(_START_PAUSE_SECONDS)
        return sent

    def run(self, stop: threading.Event) -> None:
        """Announce new messages until `stop` is set. What cannot be captured is logged each minute."""
        self._stop = stop
        while not stop.is_set():
            try:
                _, errors = self._poll()
            except SourceError as error:
                errors = {"": error}
            for name, failure in errors.items():
                self._log(name, failure)
            self._report_state("; ".join(error.message for error in errors.values()))
            self._commit()
            self._pause(self._config.poll_interval)

    def _pause(self, seconds: float) -> None:
        self._stop.wait(seconds)

    def _poll(self) -> tuple[int, dict[str, SourceError]]:
        survey = self._survey()
        found = advance(
            self._positions,
            survey.states,
            self._find_starts(survey),
            most=self._config.max_messages_per_object,
            may_restart=self._config.recreated_topics == "continue",
        )
        sent = sum(self._announce(one) for one in found.announcements)
        errors = dict(survey.errors)
        for fault in found.faults:
            errors.setdefault(fault.partition.topic, _explain_fault(fault))
        return sent, errors

    def _survey(self) -> _Survey:
        survey = _Survey()
        self._describe(survey)
        partitions = [one for topic in self._described.values() for one in topic.partitions]
        first = self._topics.find_offsets([one for one in partitions if not self._is_continued(one)], "first")
        ends = self._topics.find_offsets(partitions, "end")
        for partition, error in (*first.errors.items(), *ends.errors.items()):
            survey.errors.setdefault(str(partition), error)
        for partition, end in ends.found.items():
            known = self._positions.get(partition)
            begin = first.found.get(partition, known.next if known else None)
            if begin is not None:
                topic_id = self._described[partition.topic].topic_id
                survey.states[partition] = PartitionState(topic_id, begin, end)
        return survey

    def _is_continued(self, partition: Partition) -> bool:
        """True if it is captured, and its topic was not created again: its first offset does not matter."""
        known = self._positions.get(partition)
        return known is not None and known.topic_id == self._described[partition.topic].topic_id

    def _describe(self, survey: _Survey) -> None:
        if self._clock.monotonic() < self._described_until:
            return
        described = self._topics.describe(self._topics.find_topics(self._config.topics))
        self._described = {name: found for name, found in described.items() if isinstance(found, Topic)}
        survey.errors |= {name: found for name, found in described.items() if isinstance(found, SourceError)}
        if not survey.errors:
            self._described_until = self._clock.monotonic() + _TOPICS_SECONDS

    def _find_starts(self, survey: _Survey) -> dict[Partition, int]:
        """Return where partitions without a position begin; all others of their topic have none either."""
        known = {partition.topic for partition in self._positions}
        # A partition that was added later begins at its first message: its topic is captured since before.
        new = [one for one in survey.states if one not in self._positions and one.topic not in known]
        start = self._config.start_from
        if not new or start == "earliest":
            return {}
        if start == "latest":
            return {one: survey.states[one].end for one in new}
        assert isinstance(start, datetime)  # noqa: S101 - the third kind of `StartFrom`
        found = self._topics.find_offsets(new, start)
        for partition, error in found.errors.items():
            survey.errors.setdefault(str(partition), error)
            del survey.states[partition]
        return {one: found.found.get(one, survey.states[one].end) for one in new if one in survey.states}

    def _announce(self, one: Announcement) -> int:
        sent = self._send(one)
        if sent:
            self._positions[one.range.partition] = one.position
        return sent

    def _announce_missing(self, missing: OffsetRange) -> int:
        """Announce a range that was announced before, but whose message was lost with its process."""
        position = self._positions[missing.partition]
        parts = split_range(missing, self._config.max_messages_per_object)
        return sum(self._send(Announcement(part, position)) for part in parts)

    def _send(self, one: Announcement) -> int:
        body = build_range_message(self._config.known_location, one, self._clock.now())
        while not self._stop.is_set():
            try:
                self._queue.send(body, timeout=_SEND_SECONDS)
            except SourceUnavailableError:
                continue  # full: capture is behind
            return 1
        return 0

    def _commit(self) -> None:
        """Commit to the group what the lake has: everything, when no message waits or is being committed."""
        if self._group is None:
            return
        reached = {partition: position.next for partition, position in self._positions.items()}
        depth = self._queue.depth()
        if reached != self._committed and not depth.visible and not depth.in_flight:
            self._group.commit(reached)
            self._committed = reached

    def _log(self, name: str, error: SourceError) -> None:
        now = self._clock.monotonic()
        if now >= self._reported.get(name, 0.0):
            log.warning(error.message, hint=error.hint)
            self._reported[name] = now + _REPORT_SECONDS


def _explain_fault(fault: Fault) -> SourceError:
    topic = fault.partition.topic
    return SourceError(
        f"topic {topic} cannot be continued: {fault.detail}",
        hint="to capture what it has now, from its first message on, set `source.recreated_topics: continue`",
    )

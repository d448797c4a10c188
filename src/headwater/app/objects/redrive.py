"""Retries objects: on request, by a repair, or because their error was transient."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from headwater.app.application import App, read_clock
from headwater.app.components import BackgroundLoop
from headwater.app.scope import list_buckets, rename_moved
from headwater.capture.captured_event import CapturedEvent
from headwater.capture.control_events import (
    DROP_EVENT,
    REPAIR_EVENT,
    build_control_event,
    build_retry,
    with_content,
)
from headwater.capture.quarantine_item import MAX_PAYLOAD_CHARS
from headwater.capture.quarantine_reader import QuarantineFilter, QuarantineReader, Row
from headwater.errors import HeadwaterError
from headwater.ingest.planning.retries import FailedAttempt, choose_due
from headwater.ingest.runner import Pipeline
from headwater.lake.layout import quarantine_path
from headwater.lake.storage_options import build_storage_options
from headwater.sources.message_parser import parse_message

log = structlog.stdlib.get_logger(__name__)

_EVENTS_A_COMMIT = 5_000
_POLL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class RetryReport:
    """`tried` objects and messages, of which `resolved` have left quarantine."""

    tried: int
    resolved: int


class Redrive:
    """Writes to the lake of one `App`; use it inside `hold_for_command`. Raises `HeadwaterError`."""

    def __init__(self, app: App, now: Callable[[], datetime] = read_clock) -> None:
        self._app = app
        self._now = now
        self._providers = list_buckets(app.settings)

    def append(self, events: Iterable[CapturedEvent]) -> int:
        """Commit the events; return their number. A table that has never run begins before them."""
        batch: list[CapturedEvent] = []
        count = 0
        self._app.settle_starts(self._app.settings.object_tables)
        for event in events:
            batch.append(event)
            count += 1
            if len(batch) >= _EVENTS_A_COMMIT:
                self._app.events.append(batch)
                batch = []
        self._app.events.append(batch)
        return count

    def run_tables(self, names: Sequence[str] = ()) -> None:
        """Bring the tables up to date with the events."""
        for pipeline in self._app.build_pipelines(names):
            drain(pipeline)

    def retry(self, rows: Sequence[Row]) -> RetryReport:
        """Retry quarantined objects and messages; those that succeed leave quarantine.

        `rows` are from `QuarantineReader`. Objects are read in their current state; messages are parsed
        again.
        """
        now = self._now()
        messages = [row for row in rows if row["level"] == "message" or row["stage"] == "capture"]
        parsed = {str(row["quarantine_id"]): self._parse(row, now) for row in messages}
        self.append(event for events in parsed.values() for event in rename_moved(self._app.settings, events))
        self._app.stores.quarantine.remove({found for found, events in parsed.items() if events})
        self.append(self._iter_requests([row for row in rows if row["key"] is not None], now))
        self.run_tables()
        left = {_name_item(row) for row in self._open_quarantine().list_rows()}
        return RetryReport(len(rows), sum(_name_item(row) not in left for row in rows))

    def drop(self, rows: Sequence[Row]) -> int:
        """Drop quarantined objects: the ledger records it, and they are not retried."""
        now = self._now()
        dropped: list[CapturedEvent] = []
        given_up = {
            (str(row["bucket"]), str(row["key"])): row["version"] for row in rows if row["level"] == "object"
        }
        for (bucket, key), version in sorted(given_up.items()):
            event = build_control_event(DROP_EVENT, self._find_provider(bucket), bucket, key, now)
            dropped.append(with_content(event, "created", None if version is None else str(version)))
        self.append(dropped)
        self._app.stores.quarantine.remove({str(row["quarantine_id"]) for row in rows})
        self.run_tables()
        return len(rows)

    def _iter_requests(self, rows: Sequence[Row], now: datetime) -> Iterator[CapturedEvent]:
        """Yield one event per object or version. For objects with bad records, the other rows are
        replaced."""
        partly = {(str(row["bucket"]), str(row["key"])) for row in rows if row["level"] == "record"}
        yield from (self.ask_again(bucket, key, now) for bucket, key in sorted(partly))
        complete = {
            (*address, str(row["version_id"] or "")): _event_time_of(row)
            for row in rows
            if (address := (str(row["bucket"]), str(row["key"]))) not in partly
        }
        for (bucket, key, version_id), event_time in sorted(complete.items(), key=lambda item: item[0]):
            yield build_retry(self._find_provider(bucket), bucket, key, version_id or None, event_time, now)

    def ask_again(self, bucket: str, key: str, now: datetime) -> CapturedEvent:
        """Build the event that re-reads an object and replaces its rows."""
        return build_control_event(REPAIR_EVENT, self._find_provider(bucket), bucket, key, now)

    def _find_provider(self, bucket: str) -> str:
        # The bucket of a former source is ignored by every table, whatever its provider.
        return self._providers.get(bucket, "")

    def ask_for_due(self) -> int:
        """Request a retry of objects whose error may be resolved; return their number."""
        now = self._now()
        policies = {
            name: table.on_bad_object.model_dump(by_alias=True)
            for name, table in self._app.settings.object_tables.items()
        }
        failed = (
            FailedAttempt(
                str(row["table"]),
                str(row["bucket"]),
                str(row["key"]),
                str(row["reason"]),
                _time_of(row),
                str(row["version_id"] or "") or None,
                _event_time_of(row),
            )
            for row in self._open_quarantine().list_rows(QuarantineFilter(level="object"))
        )
        due = choose_due(failed, policies, now)
        return self.append(
            build_retry(
                self._find_provider(one.bucket), one.bucket, one.key, one.version_id, one.event_time, now
            )
            for one in due
        )

    def _open_quarantine(self) -> QuarantineReader:
        settings = self._app.settings
        options = build_storage_options(settings.lake, settings.lake_storage)
        return QuarantineReader(quarantine_path(settings.lake), options)

    @staticmethod
    def _parse(row: Row, now: datetime) -> list[CapturedEvent]:
        payload = row["payload"]
        if not isinstance(payload, str) or len(payload) >= MAX_PAYLOAD_CHARS:
            return []
        # If the message also had good records, only the bad record was kept.
        found = parse_message(payload).events or parse_message(f'{{"Records": [{payload}]}}').events
        return [CapturedEvent(event, now, str(row["message_id"] or "")) for event in found]


def drain(pipeline: Pipeline) -> None:
    """Bring one table up to date with the events."""
    while pipeline.run_batch() is not None:
        pass
    pipeline.save_checkpoint()


class RetryLoop(BackgroundLoop):
    """Retries due objects. Stops after the current pass."""

    def __init__(self, app: App, poll_seconds: float = _POLL_SECONDS) -> None:
        super().__init__("retries", app.is_session_alive, stop_seconds=None)
        self._redrive = Redrive(app)
        self._app = app
        self._pause = poll_seconds

    def work(self, stop: threading.Event) -> None:
        """Run passes with pauses between them."""
        self._app.use_pool("retries")
        while not stop.wait(self._pause):
            try:
                if asked := self._redrive.ask_for_due():
                    log.info("retrying quarantined objects", objects=asked)
                self.part.note("running")
            except HeadwaterError as error:
                self.part.retry(error.message)
                log.warning("cannot read quarantine; retrying", error=error.message, hint=error.hint)


def _time_of(row: Row) -> datetime:
    time = row["quarantined_at"]
    assert isinstance(time, datetime)  # noqa: S101 - the column is a timestamp that is always set
    return time


def _event_time_of(row: Row) -> datetime | None:
    time = row["event_time"]
    return time if isinstance(time, datetime) else None


def _name_item(row: Row) -> tuple[object, ...] | str:
    """Return what identifies an item: an object or a record that fails again has a new one."""
    if row["key"] is None:
        return str(row["quarantine_id"])
    return (row["level"], row["table"], row["bucket"], row["key"], row["line"])

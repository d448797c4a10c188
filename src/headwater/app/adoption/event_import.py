"""Takes the events of HoodieStreamer's events table into the lake's own one, in the order of their rows."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice

from headwater.app.adoption.report import ImportReport
from headwater.app.application import App
from headwater.app.scope import rename_moved
from headwater.capture.adopted_events import AdoptedEvents
from headwater.capture.captured_event import CapturedEvent
from headwater.capture.old_events import OldEvents, OldRow, build_message
from headwater.capture.quarantine_item import QuarantineItem
from headwater.observability.crash_points import crash_point
from headwater.sources.message_parser import parse_message

_ROWS_A_COMMIT = 20_000


class EventImport:
    """One old table. Resumes after the last row whose event is in the lake; a repeated row adds nothing."""

    def __init__(
        self, app: App, old: OldEvents, now: Callable[[], datetime], rows_a_commit: int = _ROWS_A_COMMIT
    ) -> None:
        self._app = app
        self.old = old
        self._now = now
        self._rows_a_commit = rows_a_commit
        self.adopted = AdoptedEvents(app.events, old.address)

    def run(self) -> ImportReport:
        """Commit the events of all rows that are not in the lake yet. Raises `LakeError`."""
        report = ImportReport()
        for rows in _divide(self.old.iter_rows(self.adopted.find_last_mark()), self._rows_a_commit):
            events, bad = self._parse(rows)
            self._app.stores.quarantine.append(bad)
            appended = self._app.events.append(rename_moved(self._app.settings, events))
            report.events += appended.events
            report.duplicates += appended.duplicates
            report.rejected += len(bad)
            crash_point("after_adopted_events")
        return report

    def _parse(self, rows: Iterable[OldRow]) -> tuple[list[CapturedEvent], list[QuarantineItem]]:
        now, events, bad = self._now(), list[CapturedEvent](), list[QuarantineItem]()
        for row in rows:
            message_id = self.adopted.origin + row.mark
            body, attributes = build_message(self.old.provider, row.text)
            found = parse_message(body, attributes)
            events += [CapturedEvent(event, now, message_id) for event in found.events]
            if not found.events:
                reason = found.rejected or "unknown_shape"
                item = QuarantineItem(
                    "message", "capture", reason, found.detail, now, message_id=message_id, payload=row.text
                )
                bad.append(item)
        return events, bad


def _divide(rows: Iterator[OldRow], most: int) -> Iterator[list[OldRow]]:
    while part := list(islice(rows, most)):
        yield part

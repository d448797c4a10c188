"""`lake.quarantine`: what could not be ingested, and why."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from headwater.api.listing import Listing
from headwater.api.session import Session
from headwater.app.since import parse_since
from headwater.capture.quarantine_item import QuarantineLevel
from headwater.capture.quarantine_reader import QuarantineFilter, QuarantineReader, Row
from headwater.lake.layout import quarantine_path
from headwater.lake.storage_options import build_storage_options

if TYPE_CHECKING:
    from headwater.app.objects.redrive import RetryReport


class Quarantine:
    """The items in quarantine: unusable messages, objects and records, with all of their data.

    Methods raise `HeadwaterError`; those that write, `TableBusyError` while a run is active.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def list(
        self,
        *,
        level: QuarantineLevel | None = None,
        reason: str | None = None,
        table: str | None = None,
        since: str | None = None,
    ) -> Listing[Row]:
        """Return the items, newest first, each as a dict. `since` is a time, or an age such as `7d`."""
        after = parse_since(since, datetime.now(timezone.utc), "since") if since else None
        return Listing(self._open().list_rows(QuarantineFilter(level, reason, table, after)))

    def __getitem__(self, quarantine_id: str) -> Row:
        """Return the item with that id, or with a unique prefix of it. Raises `UsageError`."""
        return self._open().load_row(quarantine_id)

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._open().list_rows())

    def retry(self, items: Iterable[Row | str] | None = None) -> "RetryReport":
        """Try items again: rows of `list`, or ids; by default all. Those that succeed leave quarantine."""
        from headwater.app.objects.redrive import Redrive

        chosen = self._choose(items)
        with self._session.open(writing="quarantine retry") as app:
            return Redrive(app).retry(chosen)

    def drop(self, items: Iterable[Row | str]) -> int:
        """Drop items for good; their objects count as skipped from then on. Return their number."""
        from headwater.app.objects.redrive import Redrive

        chosen = self._choose(items)
        with self._session.open(writing="quarantine drop") as app:
            return Redrive(app).drop(chosen)

    def __repr__(self) -> str:
        return f"<quarantine of {self._session.settings.lake}: {len(self):,} items>"

    def _repr_html_(self) -> str:
        return self.list()._repr_html_()

    def _choose(self, items: Iterable[Row | str] | None) -> Sequence[Row]:
        reader = self._open()
        if items is None:
            return reader.list_rows()
        return [reader.load_row(item) if isinstance(item, str) else item for item in items]

    def _open(self) -> QuarantineReader:
        settings = self._session.settings
        options = build_storage_options(settings.lake, settings.lake_storage)
        return QuarantineReader(quarantine_path(settings.lake), options)

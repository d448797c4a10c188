"""`IcebergViews`: updates the Iceberg views of a configuration. Needs no JVM."""

from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import structlog

from headwater.app.iceberg.status import (
    ViewFailure,
    open_store,
    read_failure,
    read_status,
    write_failure,
)
from headwater.config.settings import Settings
from headwater.errors import HeadwaterError, IcebergViewError, LakeError, TableNotFoundError
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import find_address
from headwater.lake.timeline.instants import Instant
from headwater.observability.metrics import Metrics

if TYPE_CHECKING:
    from headwater.lake.iceberg_view.view import IcebergView, ViewUpdate

log = structlog.stdlib.get_logger(__name__)

_Seen = tuple[tuple[Instant, ...], int]
"""A timeline, and the snapshot that the view had then."""


class IcebergViews:
    """The views of the named tables that have one. `now` gives the time of failures. Not thread-safe."""

    def __init__(
        self,
        settings: Settings,
        now: Callable[[], datetime],
        metrics: Metrics | None = None,
        only: Iterable[str] | None = None,
    ) -> None:
        self._settings = settings
        self._now = now
        self._metrics = metrics
        names = settings.tables if only is None else only
        self.tables = [name for name in names if name in settings.tables and settings.tables[name].iceberg]
        self._views: dict[str, IcebergView] = {}
        self._failures: dict[str, ViewFailure | None] = {}
        self._seen: dict[str, _Seen] = {}

    def update(self, name: str, *, at_once: bool = False) -> "ViewUpdate | None":
        """Update one view, and record the result; see `IcebergView.update`. Raises `HeadwaterError`."""
        try:
            done = self._open(name).update(at_once=at_once)
        except HeadwaterError as error:
            self._note_failure(name, error)
            raise
        # A defect here, or in pyiceberg, must not fail a run whose rows are committed.
        except Exception as error:
            log.exception("Iceberg view not updated by an unexpected error", table=name)
            explained = _explain_defect(error)
            self._note_failure(name, explained)
            raise explained from error
        self._note_success(name, done)
        return done

    def follow(self, name: str) -> bool:
        """Update a view if its table has changed since the last call. True if that worked; logs failures."""
        try:
            if self._is_current(name):
                return True
            timeline = TableTimeline(find_address(self._settings, name)).active
            self.update(name)
            self._seen[name] = timeline, self._find_snapshot(name)
        except TableNotFoundError:
            return True
        except HeadwaterError as error:
            log.warning(
                "Iceberg view not updated; retrying", table=name, error=error.message, hint=error.hint
            )
            return False
        finally:
            self._measure(name)
        return True

    def remove(self, name: str) -> None:
        """Delete the metadata of a view. Raises `LakeError`."""
        self._seen.pop(name, None)
        self._open(name).remove()

    def find_error(self, name: str) -> str:
        """Return the message of the last failure; empty if the last update worked."""
        failure = self._failures.get(name)
        return failure.error if failure else ""

    def _open(self, name: str) -> "IcebergView":
        # The package is an extra, which only tables with a view need.
        from headwater.lake.iceberg_view.view import IcebergView

        address = find_address(self._settings, name)
        if name not in self._views:
            self._views[name] = IcebergView(address, open_store(self._settings, name))
        view = self._views[name]
        view.address = address
        return view

    def _is_current(self, name: str) -> bool:
        seen = self._seen.get(name)
        if seen is None:
            return False
        timeline = TableTimeline(find_address(self._settings, name)).active
        # Another process may have replaced the view by one of an earlier commit.
        return seen == (timeline, self._find_snapshot(name))

    def _find_snapshot(self, name: str) -> int:
        shown = self._open(name).find_shown()
        return shown.snapshot.snapshot_id if shown else 0

    def _measure(self, name: str) -> None:
        if self._metrics is None:
            return
        try:
            timeline = TableTimeline(find_address(self._settings, name))
            found = read_status(self._settings, name, timeline.commits, self._now())
        except HeadwaterError:
            return
        self._metrics.set("iceberg_lag_seconds", found.lag_seconds, table=name)

    def _note_success(self, name: str, done: "ViewUpdate | None") -> None:
        if done is not None and done.is_changed:
            log.info("Iceberg view updated", table=name, added=done.added, removed=done.removed)
            if self._metrics:
                self._metrics.count("iceberg_updates", table=name)
        self._record(name, None)

    def _note_failure(self, name: str, error: HeadwaterError) -> None:
        if isinstance(error, TableNotFoundError):
            return
        if self._metrics:
            self._metrics.count("iceberg_updates_failed", table=name)
        now = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
        before = self._read_failure(name)
        since = before.failing_since if before else now
        self._record(name, ViewFailure(error.message, error.hint, since))

    def _record(self, name: str, failure: ViewFailure | None) -> None:
        if failure == self._read_failure(name):
            return
        self._failures[name] = failure
        try:
            write_failure(open_store(self._settings, name), failure)
        except LakeError as error:
            log.warning("result of an Iceberg view not recorded", table=name, error=error.message)

    def _read_failure(self, name: str) -> ViewFailure | None:
        if name not in self._failures:
            try:
                self._failures[name] = read_failure(open_store(self._settings, name))
            except LakeError:
                self._failures[name] = None
        return self._failures[name]


def _explain_defect(error: Exception) -> IcebergViewError:
    text = str(error).partition("\n")[0][:300]
    return IcebergViewError(
        f"unexpected {type(error).__name__}: {text}", hint="report it with the traceback in the log"
    )


def update_views(settings: Settings, only: Iterable[str] | None = None) -> None:
    """Update the views of the named tables, of all by default, after a command. Logs failures."""
    views = IcebergViews(settings, lambda: datetime.now(timezone.utc), only=only)
    for name in views.tables:
        views.follow(name)

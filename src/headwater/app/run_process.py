"""`RunProcess`: one process of `headwater run`, from its checks to its end."""

import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass

from headwater.app.application import App
from headwater.app.brief_run import is_brief
from headwater.app.components import RunReport
from headwater.app.endpoints import serve_endpoints
from headwater.app.lake_identity import ensure_usable_lake
from headwater.app.preflight import check_before_roles
from headwater.app.reload import Reloader
from headwater.app.roles import Roles
from headwater.app.run import Run, RunObserver
from headwater.app.services.writer_lease import hold_for_run
from headwater.capture.consumer import CaptureStats
from headwater.config.environment import read_environment
from headwater.config.listen_address import ListenAddress
from headwater.config.settings import Settings
from headwater.errors import PlatformError, TableBusyError
from headwater.observability.crash_points import CRASH_POINT_VARIABLE, arm_crash_point
from headwater.observability.metrics import Metrics
from headwater.observability.part_board import PartBoard
from headwater.observability.part_state import SESSION


@dataclass(frozen=True, slots=True)
class RunEvents:
    """What reaches a process from outside.

    `stop` ends a run, for whatever reason; `was_asked` is set if the process is to end with it; `reload` asks
    for a reload. `on_session` is called in the calling thread when a Spark session is up.
    """

    stop: threading.Event
    was_asked: threading.Event
    reload: threading.Event
    on_session: Callable[[], None]


class RunProcess:
    """Runs once, or until it is stopped; after each reload it continues with another configuration.

    A reload ends the run in order and begins the next one with the same Spark session and endpoints.
    `choose_roles` and `load` raise `HeadwaterError`.
    """

    def __init__(
        self,
        choose_roles: Callable[[Settings], Roles],
        load: Callable[[], Settings],
        events: RunEvents,
        address: ListenAddress | None = None,
        *,
        session_of: App | None = None,
        observer: RunObserver | None = None,
    ) -> None:
        """`session_of`: use the Spark session of this app, and leave it running."""
        self._choose_roles = choose_roles
        self._load = load
        self._events = events
        self._address = address
        self._session_of = session_of
        self._observer = observer
        self._environ = read_environment()
        self._board = PartBoard()
        self._unended: list[str] = []

    def run(self, settings: Settings, *, once: bool) -> RunReport:
        """Return the report of the last run. Raises `HeadwaterError`."""
        arm_crash_point(self._environ.get(CRASH_POINT_VARIABLE))
        self._check(settings)
        self._board.add(SESSION)
        with ExitStack() as stack:
            # Before the lease: a standby that waits for it is alive, and not ready.
            metrics = stack.enter_context(serve_endpoints(self._address, self._board, settings.slo.fresh))
            brief = once and self._session_of is None and is_brief(settings)
            own = App(settings, environ=self._environ, session_of=self._session_of, is_brief=brief)
            app = stack.enter_context(closing(own))
            if once:
                return self._run(app, metrics, once=True)
            reloader = Reloader(settings, self._load, self._check, self._events.stop, self._events.reload)
            reloader.report_to(self._board, metrics)
            stack.enter_context(reloader.working())
            return self._run_with_reloads(app, metrics, reloader)

    def _run_with_reloads(self, app: App, metrics: Metrics | None, reloader: Reloader) -> RunReport:
        events, first = self._events, app
        while True:
            report = self._run(app, metrics, once=False)
            settings = reloader.take()
            # Asked last: `take` may have cleared a `stop` that its handler had set.
            if settings is None or events.was_asked.is_set():
                return report
            if self._unended:
                raise PlatformError(
                    f"reload: {', '.join(self._unended)} did not end in time, so no further run can begin",
                    hint="start the process again: it resumes from the last commit",
                )
            self._board.clear()
            self._board.add(SESSION)
            if metrics is not None:
                metrics.forget_gauges()
            app = first.with_settings(settings)

    def _check(self, settings: Settings) -> None:
        """Raise `HeadwaterError` for settings with which a run could not start."""
        check_before_roles(settings, self._environ, self._choose_roles(settings))
        ensure_usable_lake(settings)

    def _run(self, app: App, metrics: Metrics | None, *, once: bool) -> RunReport:
        stop, settings = self._events.stop, app.settings
        roles = self._choose_roles(settings)
        with ExitStack() as stack:
            try:
                lease = stack.enter_context(hold_for_run(settings, roles, stop, self._board, once=once))
            except TableBusyError:
                if not stop.is_set():
                    raise
            if stop.is_set():
                # Stopped before the lease was acquired: the JVM need not start.
                return RunReport(CaptureStats(), {}, {})

            def note_session() -> None:
                self._events.on_session()
                lease.add_process(app.find_jvm_process())

            a_run = Run(
                app,
                roles=roles,
                observer=self._observer,
                metrics=metrics,
                on_session=note_session,
                board=self._board,
            )
            report = a_run.once(stop) if once else a_run.until(stop)
            lease.check()
            self._unended = a_run.list_unended()
            return report

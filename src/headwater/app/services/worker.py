"""`ServicesWorker`: runs the table services that writers leave to it, on all tables concurrently, in a
loop."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import structlog

from headwater.app.application import App
from headwater.app.duty import find_duty
from headwater.errors import HeadwaterError, TableNotFoundError
from headwater.lake.layout import find_address
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.maintenance import Maintenance, run_due_services

log = structlog.stdlib.get_logger(__name__)

_PAUSE_SECONDS = 20.0
_TABLES_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class PassReport:
    """What one pass did, and the errors of failed tables, by name."""

    done: tuple[Maintenance, ...]
    failures: dict[str, HeadwaterError] = field(default_factory=dict)


class ServicesWorker:
    """Use one object for one run. `on_pass` is called for each pass that did anything, `on_failures` with the
    errors of each pass, by table."""

    def __init__(
        self,
        app: App,
        tables: Sequence[str],
        on_pass: Callable[[PassReport], None] = lambda _: None,
        on_failures: Callable[[Mapping[str, HeadwaterError]], None] = lambda _: None,
    ) -> None:
        self._app = app
        self._tables = tables
        self._on_pass = on_pass
        self._on_failures = on_failures

    def run_pass(self) -> PassReport:
        """Run one pass through all tables. A table that does not exist yet is skipped."""
        with ThreadPoolExecutor(_TABLES_AT_ONCE, thread_name_prefix="services") as pool:
            results = list(pool.map(self._maintain, self._tables))
        done = tuple(result for result in results if isinstance(result, Maintenance))
        pairs = zip(self._tables, results, strict=True)
        failures = {name: result for name, result in pairs if isinstance(result, HeadwaterError)}
        return PassReport(done, failures)

    def run_until(self, stop: threading.Event) -> None:
        """Run passes with pauses, until `stop` is set. Raises `PlatformError` when the JVM ends."""
        while not stop.is_set():
            report = self.run_pass()
            self._app.check_session()
            self._on_failures(report.failures)
            for name, error in report.failures.items():
                log.warning(
                    "table maintenance failed; retrying", table=name, error=error.message, hint=error.hint
                )
            if not all(done.is_idle for done in report.done):
                self._on_pass(report)
            stop.wait(_PAUSE_SECONDS)

    def _maintain(self, name: str) -> Maintenance | HeadwaterError | None:
        # With a pool per table, a large compaction leaves the other tables their share.
        self._app.use_pool(f"services-{name}")
        config = self._app.settings.tables[name]
        duty = find_duty(config)
        if duty is None:
            return None
        address = find_address(self._app.settings, name)
        try:
            return run_due_services(ServiceTable.of(self._app.spark, address, config), duty)
        except TableNotFoundError:
            return None
        except HeadwaterError as error:
            return error

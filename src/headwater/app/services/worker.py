"""`ServicesWorker`: runs the table services that writers leave to it, on all tables concurrently, in a
loop."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import structlog

from headwater.app.application import App
from headwater.config.table import TableConfig
from headwater.errors import HeadwaterError, TableNotFoundError, UsageError
from headwater.lake.layout import find_address
from headwater.lake.options import owner_options
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.maintenance import Duty, Maintenance, run_due_services

log = structlog.stdlib.get_logger(__name__)

_PAUSE_SECONDS = 20.0
_TABLES_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class PassReport:
    """What one pass did, and the errors of failed tables, by name."""

    done: tuple[Maintenance, ...]
    failures: dict[str, HeadwaterError] = field(default_factory=dict)


def find_duty(config: TableConfig) -> Duty | None:
    """Return the services left to the worker; None when the writer runs them all."""
    if config.services == "inline":
        return None
    is_all = config.services == "async"
    return Duty(
        plans=is_all,
        clusters=config.max_pending_clustering if is_all and config.clustering is not None else 0,
        cleans=is_all,
        expires=is_all and config.keep_partition_days is not None,
        indexes=config.indexing == "async",
    )


def list_served(app: App, only: Sequence[str]) -> list[str]:
    """Return the tables that leave services to the worker. Raises `UsageError` when there are none, or when
    `only` names another table."""
    tables = app.settings.tables
    served = [name for name, config in tables.items() if find_duty(config) is not None]
    for name in only:
        if name not in served:
            known = name in tables
            hint = f"set tables.{name}.services" if known else f"tables: {', '.join(tables)}"
            text = (
                "leaves no services to `services run`: its writer runs them all"
                if known
                else "is not configured"
            )
            raise UsageError(f"table {name} {text}", hint=hint)
    if not served:
        raise UsageError(
            "no table leaves services to `services run`: their writers run them all",
            hint="set `services: semi_async` or `services: async` for a table",
        )
    return [name for name in served if not only or name in only]


class ServicesWorker:
    """Use one object for one run. `on_pass` is called for each pass that did anything."""

    def __init__(
        self, app: App, tables: Sequence[str], on_pass: Callable[[PassReport], None] = lambda _: None
    ) -> None:
        self._app = app
        self._tables = tables
        self._on_pass = on_pass

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
            return run_due_services(ServiceTable(self._app.spark, address, owner_options(config)), duty)
        except TableNotFoundError:
            return None
        except HeadwaterError as error:
            return error

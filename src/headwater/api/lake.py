"""`headwater.open` and `Lake`: all tables of one configuration."""

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any

from headwater.api.quarantine import Quarantine
from headwater.api.rows import Rows
from headwater.api.searching import Recommendation, Searching
from headwater.api.session import Session
from headwater.api.table import Table
from headwater.config.environment import find_config_path
from headwater.config.loader import build_settings, load_settings
from headwater.config.settings import Settings
from headwater.errors import RunFailedError
from headwater.lake.layout import list_tables
from headwater.lake.queries.query import Query
from headwater.lake.storage_options import build_storage_options
from headwater.observability.logging import pass_logs_on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.app.components import RunReport
    from headwater.app.objects.explain import Explanation
    from headwater.app.objects.verify import VerifyReport
    from headwater.app.rehearsal import RehearsalReport
    from headwater.app.roles import Role
    from headwater.app.status import Status
    from headwater.rag.retrieval.query import SearchResult

NOTHING: Mapping[str, Any] = MappingProxyType({})


def open_lake(
    path: str | Path | None = None,
    *,
    name: str = "",
    overrides: Mapping[str, str] = NOTHING,
    spark: "SparkSession | None" = None,
) -> "Lake":
    """Open the lake of a configuration file. Starts nothing.

    `path` is by default HEADWATER_CONFIG, else headwater.yaml in this folder. `name` chooses one of several
    lakes of the file; `overrides` are as `--set`: `{"source.prefix": "new/"}`. Raises `ConfigError` with all
    problems.
    """
    config = find_config_path(Path(path) if path is not None else None)
    lake = Lake.of(load_settings(config, overrides=overrides, lake_name=name), spark)
    lake._read_edited = partial(_read_in_place, config, overrides, name)
    return lake


def _read_in_place(config: Path, overrides: Mapping[str, str], name: str, new: Path) -> Settings:
    from headwater.app.rehearsal.replacing import read_new_file

    return read_new_file(config, new, overrides, name).settings


class Lake:
    """All tables of one configuration: `lake["orders"]` is one of them.

    A Spark session is started at the first call that needs it, and ended by `close` or at the end of a `with`
    block; a session passed as `spark` is used and left running. Methods raise `HeadwaterError`.
    """

    def __init__(
        self,
        *,
        source: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        tables: Mapping[str, Mapping[str, Any]],
        lake: str = "lake",
        spark: "SparkSession | None" = None,
        **sections: Any,
    ) -> None:
        """Open a lake without a file: the arguments are the sections of headwater.yaml.

        Raises `ConfigError` with all problems.
        """
        data = {"source": source, "lake": lake, "tables": tables, **sections}
        self._start(build_settings(data, "Lake(...)"), spark)

    @classmethod
    def of(cls, settings: Settings, spark: "SparkSession | None" = None) -> "Lake":
        """Open the lake of a checked configuration."""
        lake = cls.__new__(cls)
        lake._start(settings, spark)
        return lake

    def _start(self, settings: Settings, spark: "SparkSession | None") -> None:
        pass_logs_on()
        self.settings = settings
        self._read_edited: Callable[[Path], Settings] = load_settings
        self._session = Session(settings, spark)
        self._searching = Searching(settings)

    def __getitem__(self, name: str) -> Table:
        """Return a table, or one of headwater's own (`events`, `ledger`). Raises `UsageError`."""
        return Table(self._session, name)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the data tables."""
        return iter(self.settings.tables)

    def __len__(self) -> int:
        """Return the number of data tables."""
        return len(self.settings.tables)

    def __contains__(self, name: object) -> bool:
        """True for a data table, and for one of headwater's own."""
        return name in list_tables(self.settings)

    @property
    def spark(self) -> "SparkSession":
        """The Spark session, which is started if there is none yet."""
        return self._session.app.spark

    @cached_property
    def quarantine(self) -> Quarantine:
        """What could not be ingested, and why."""
        return Quarantine(self._session)

    def run(
        self,
        *,
        once: bool = True,
        tables: Sequence[str] = (),
        only: "Sequence[Role]" = (),
        stop: threading.Event | None = None,
        check: bool = True,
        progress: bool | None = None,
    ) -> "RunReport":
        """Ingest all pending objects, as `headwater run --once` does.

        `once=False` continues until `stop` is set. `tables` and `only` restrict the run as `--table` and
        `--only` do. `progress` writes a line for each commit to stderr; default: in terminals and notebooks.
        With `check`, raises `RunFailedError` if a table failed; else the report has the failures.
        """
        from headwater.app.progress import Progress, is_watched
        from headwater.app.roles import choose_roles
        from headwater.app.run_process import RunEvents, RunProcess

        is_shown = is_watched(sys.stderr) if progress is None else progress
        lines = Progress(sys.stderr if is_shown else None)
        stop = stop or threading.Event()
        process = RunProcess(
            lambda settings: choose_roles(settings, list(only), list(tables)),
            lambda: self.settings,
            RunEvents(stop, stop, threading.Event(), lines.note_session),
            session_of=self._session.app,
            observer=lines.build_observer(),
        )
        report = process.run(self.settings, once=once)
        failures = {**report.failures, **report.component_failures}
        if check and failures:
            raise RunFailedError(failures)
        return report

    def sql(self, query: str, *, limit: int | None = None, as_of: str | None = None) -> Rows:
        """Run one read-only statement on the tables, `events`, `quarantine` and `ledger`.

        Needs a JVM only for tables that hudi-rs cannot read.
        """
        from headwater.app.sql import run_sql

        chosen = Query.as_of(as_of) if as_of is not None else Query.snapshot()
        return Rows(run_sql(self.settings, query, chosen, lambda: self._session.app, limit))

    def status(self, tables: Sequence[str] = ()) -> "Status":
        """Return rows, lag, quarantine, queue and active processes. Needs no JVM."""
        from headwater.app.status import StatusReader

        options = build_storage_options(self.settings.lake, self.settings.lake_storage)
        return StatusReader(self.settings, options, datetime.now(timezone.utc)).read(tuple(tables))

    def verify(self, tables: Sequence[str] = (), *, deep: int = 0, repair: bool = False) -> "VerifyReport":
        """Compare the tables with the source; `is_complete` is the result.

        `deep` also re-reads one object in `deep`, 1 for all. `repair` ingests what is missing first.
        """
        from headwater.app.objects.verify import Verify

        with self._session.open(writing="verify --repair" if repair else "") as app:
            comparison = Verify(app, deep=deep)
            repaired = comparison.repair(list(tables)) if repair else 0
            report = comparison.run(list(tables))
            report.repaired = repaired
            return report

    def rehearse(
        self,
        new: str | Path | Settings,
        tables: Sequence[str] = (),
        *,
        days: float | None = None,
        objects: int | None = None,
    ) -> "RehearsalReport":
        """Run an edited configuration on a shadow of the lake, and compare its rows with those of this one.

        `new` is a file, or a checked configuration. Relative paths belong to the folder of this lake's own
        file, if it has one. `days` and `objects` choose the objects as the command does. Changes no table;
        `has_differences` is the result.
        """
        from headwater.app.rehearsal import Rehearsal, RehearsalWindow

        edited = new if isinstance(new, Settings) else self._read_edited(Path(new))
        with self._session.open() as app:
            return Rehearsal(app, edited, RehearsalWindow(days, objects)).run(tables)

    def explain(self, uri: str) -> "Explanation":
        """Return every event, decision, commit, row count and error of one object."""
        from headwater.app.objects.explain import Explain, parse_uri

        parse_uri(uri, self.settings)
        return Explain(self._session.app).explain(uri)

    def search(self, query: str, *, limit: int = 10, filters: Mapping[str, Any] = NOTHING) -> "SearchResult":
        """Search the index of the configured table, as fresh as the table. `filters` as in `POST /search`."""
        return self._searching.search(query, limit, filters)

    def recommend(
        self, question: str, *, limit: int = 5, filters: Mapping[str, Any] = NOTHING
    ) -> Recommendation:
        """Answer a question from the rows of the index, with nothing that they do not support."""
        return self._searching.recommend(question, limit, filters)

    def close(self) -> None:
        """End the Spark session if this object has started it, and release the index."""
        self._searching.close()
        self._session.close()

    def __enter__(self) -> "Lake":
        """Return the lake."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the lake."""
        self.close()

    def __repr__(self) -> str:
        return f"<lake {self.settings.lake}: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        return self.status()._repr_html_()

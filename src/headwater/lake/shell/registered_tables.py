"""The tables of a lake in the catalog of a Spark session, each under its name."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.errors import AnalysisException

from headwater.config.settings import Settings
from headwater.errors import HeadwaterError, TableNotFoundError
from headwater.lake.jvm import drop_catalog_table, explained_lake, put_catalog_table
from headwater.lake.shell.session import GuardedSession
from headwater.lake.sql.spark import check_filters_work
from headwater.lake.table import Table
from headwater.lake.typed_options.services import REJECT_WRITES

_WORD = re.compile(r"\w+")


class RegisteredTables:
    """Registers tables, and keeps their columns current. `paths` are the tables' by name.

    Only the catalog of the session changes, no file of a table: Hudi's own CREATE TABLE rewrites the
    properties of the table, which would disturb its writer. A write by name fails, unless it is in
    `writable`.
    """

    def __init__(self, session: GuardedSession, paths: Mapping[str, str]) -> None:
        self._session = session
        self._paths = paths
        self._commits: dict[str, str] = {}
        self.absent: dict[str, HeadwaterError] = {}
        """Tables that cannot be queried, and why."""

    @property
    def present(self) -> list[str]:
        """The names of the tables that can be queried."""
        return [name for name in self._paths if name in self._commits]

    def list_columns(self, name: str) -> list[str]:
        """Return the columns of a table that can be queried."""
        return self._session.table(name).columns

    def register(self) -> None:
        """Register all tables. Raises `LakeError`."""
        for name in self._paths:
            self._follow(name)

    def unregister(self) -> None:
        """Remove the tables from the catalog, which other sessions of the context share."""
        for name in self.present:
            drop_catalog_table(self._session, name)

    def follow(self, text: str) -> None:
        """Register again those tables in a statement that have a new commit: it may have new columns."""
        words = {word.lower() for word in _WORD.findall(text)}
        for name in self._paths:
            if name.lower() in words:
                self._follow(name)

    @contextmanager
    def explained_absence(self) -> Iterator[None]:
        """Raise the error of a table that cannot be queried, if Spark does not find it."""
        try:
            yield
        except AnalysisException as error:
            message = str(error).lower()
            for name, problem in self.absent.items():
                if "table_or_view_not_found" in message and f"`{name.lower()}`" in message:
                    raise problem from error
            raise

    @contextmanager
    def writable(self, name: str, options: Mapping[str, str]) -> Iterator[None]:
        """Let statements write a table by its name, with these options of Hudi."""
        self._put(name, options)
        try:
            yield
        finally:
            self._put(name, REJECT_WRITES)

    def _follow(self, name: str) -> None:
        table = Table(self._session, self._paths[name])
        with explained_lake(table.path):
            timeline = table.load_timeline()
            if not timeline.exists() or not timeline.has_commits():
                self.absent[name] = TableNotFoundError(
                    f"table {name} has no rows yet: no Hudi table exists at {table.path}",
                    hint="a table is created with its first rows: `headwater run --once`",
                )
                return
            newest = timeline.commits[-1].completed if timeline.commits else ""
            if self._commits.get(name) == newest:
                return
            try:
                check_filters_work(self._session, table.path)
            except HeadwaterError as error:
                self.absent[name] = error
                return
        self._put(name, REJECT_WRITES)
        self.absent.pop(name, None)
        self._commits[name] = newest

    def _put(self, name: str, options: Mapping[str, str]) -> None:
        path = self._paths[name]
        with explained_lake(path):
            put_catalog_table(Table(self._session, path).read(), name, path, options)


def adapt_settings(settings: Settings, warehouse: str) -> Settings:
    """Return the settings for the session of a shell.

    Each statement reads the newest commits: by default, Spark remembers the files of a table at its first
    use, until REFRESH TABLE. The catalog is in memory, so tables of a user's own are stored in `warehouse`,
    a temporary folder. By default, Spark creates a folder in the working directory.
    """
    config = {
        "spark.sql.warehouse.dir": warehouse,
        **settings.spark.config,
        "spark.sql.filesourceTableRelationCacheSize": "0",
    }
    return settings.model_copy(update={"spark": settings.spark.model_copy(update={"config": config})})

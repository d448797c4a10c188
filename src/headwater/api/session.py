"""The Spark session and the leases of a `Lake`."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from headwater.config.environment import read_environment
from headwater.config.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.app import App
    from headwater.lake.service_table import ServiceTable


class Session:
    """What needs a JVM starts it at the first use, once; a session passed in is used, and left running."""

    def __init__(self, settings: Settings, spark: "SparkSession | None") -> None:
        self.settings = settings
        self._given = spark

    @cached_property
    def app(self) -> "App":
        """Return the objects of all calls."""
        from headwater.app import App

        return App(self.settings, environ=read_environment(), spark=self._given)

    def open(self, *, writing: str = "") -> "AbstractContextManager[App]":
        """Open the app after the checks of a command, with a lease if `writing` names what it does."""
        from headwater.app.command import prepare_app

        return prepare_app(self.app, writing=writing, is_owner=False)

    @contextmanager
    def open_table(self, name: str, command: str, *, is_writing: bool = True) -> "Iterator[ServiceTable]":
        """Open a data table for a service, with a lease if `is_writing`."""
        from headwater.app.command import open_service_table

        with open_service_table(
            self.app, name, command, is_own_refused=True, is_writing=is_writing, is_owner=False
        ) as table:
            yield table

    def close(self) -> None:
        """End the session, if this object has started one; the next use starts another."""
        app = self.__dict__.pop("app", None)
        if app is not None:
            app.close()

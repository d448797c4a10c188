"""HiveServer2 over SQL, for deployments whose metastore is unreachable. Without a JVM."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from getpass import getuser
from typing import Any

from impala.dbapi import connect
from impala.error import Error, HttpError
from thrift.Thrift import TException
from thrift.transport.TTransport import TTransportException

from headwater.config.catalogs import CatalogConfig
from headwater.config.catalogs.hive_address import parse_hive_address
from headwater.errors import CatalogError, CatalogUnavailableError, CredentialsError
from headwater.lake.catalogs.catalog_table import CatalogTable, PartitionValues
from headwater.lake.catalogs.hive import statements
from headwater.lake.catalogs.hive.description import Description, parse_description
from headwater.lake.catalogs.hive.refusals import find_hint
from headwater.lake.catalogs.planning import TableChange

PASSWORD_VARIABLE = "HEADWATER_HIVE_PASSWORD"  # noqa: S105 - the name of the variable
_SECONDS = 60
_NO_TABLE = "[Error 10001]"
_NO_PARTITION = "[Error 10006]"
_NO_DATABASE = "[Error 10072]"
_REFUSED_LOGIN = ("validating the login", "HTTP code 401", "HTTP code 403")


class HiveServerCatalog:
    """One session, opened on first use and reopened after a failure. See `Catalog`.

    Hive returns one partition location per statement, so this object caches locations. The next object reads
    concurrent changes by other processes.
    """

    def __init__(self, config: CatalogConfig, password: str) -> None:
        self._config = config
        self._database = config.database
        self._user = config.user or getuser()
        self._password = password
        self._connection: Any = None
        self._cursor: Any = None
        self._locations: dict[tuple[str, PartitionValues], str] = {}

    def narrow(self, entry: CatalogTable) -> CatalogTable:
        """See `Catalog`."""
        return replace(entry, files=None)

    def read(self, name: str) -> CatalogTable | None:
        """See `Catalog`."""
        with self._explained(f"read {name}"):
            held = self._describe(name)
        if held is None:
            return None
        return CatalogTable(
            name=name,
            location=held.location,
            columns=held.columns,
            format=held.format,
            partition_keys=held.partition_keys,
            partitions=held.partitions,
            properties=held.properties,
            serde_properties=held.serde_properties,
        )

    def apply(self, change: TableChange) -> None:
        """See `Catalog`."""
        if change.is_empty:
            return
        name = change.table.name
        with self._explained(f"change {name}"):
            if change.is_new:
                if self._config.create_database:
                    self._execute(statements.create_database(self._database))
                self._execute(statements.create_table(self._database, change.table))
            held = self._describe(name)
            if held is None:
                raise CatalogUnavailableError(
                    f"hive: {self._database}.{name} was deleted concurrently",
                    hint="the next sync re-creates it",
                )
            if not change.is_new:
                self._execute_all(statements.iter_alterations(self._database, change.table, held))
            # Dropped from the cache first, so that an interrupted change is read again.
            for values in (*change.added, *change.moved, *change.dropped):
                self._locations.pop((name, values), None)
            self._execute_all(statements.iter_partition_changes(self._database, change, held))

    def close(self) -> None:
        """See `Catalog`."""
        for opened in (self._cursor, self._connection):
            if opened is not None:
                with suppress(Error, TException, OSError):
                    opened.close()
        self._cursor = self._connection = None

    def _describe(self, name: str) -> Description | None:
        try:
            found = parse_description(self._fetch(statements.describe(self._database, name)))
        except Error as error:
            if _NO_TABLE in str(error) or _NO_DATABASE in str(error):
                return None
            raise
        return replace(found, partitions=self._read_locations(name, found)) if found.partition_keys else found

    def _read_locations(self, name: str, table: Description) -> dict[PartitionValues, str]:
        locations = {}
        for row in self._fetch(statements.list_partitions(self._database, name)):
            values = statements.parse_partition(row[0])
            location = self._locations.get((name, values)) or self._read_location(name, table, values)
            if location:
                locations[values] = self._locations[name, values] = location
        return locations

    def _read_location(self, name: str, table: Description, values: PartitionValues) -> str:
        asked = statements.describe_partition(self._database, name, table.partition_keys, values)
        try:
            return parse_description(self._fetch(asked)).location
        except Error as error:
            if _NO_PARTITION in str(error):
                return ""
            raise

    def _fetch(self, statement: str) -> list[Any]:
        self._execute(statement)
        rows: list[Any] = self._cursor.fetchall()
        return rows

    def _execute_all(self, said: Iterable[str]) -> None:
        for statement in said:
            self._execute(statement)

    def _execute(self, statement: str) -> None:
        if self._cursor is None:
            address = parse_hive_address(str(self._config.address))
            self._connection = connect(
                host=address.host,
                port=address.port,
                timeout=_SECONDS,
                use_ssl=address.is_encrypted,
                verify_cert=address.is_encrypted,
                auth_mechanism="NOSASL" if address.is_plain else "PLAIN",
                user=self._user,
                # PLAIN requires a password, even if the server does not verify it.
                password=self._password or "none",
                use_http_transport=bool(address.http_path),
                http_path=address.http_path,
            )
            self._cursor = self._connection.cursor()
        self._cursor.execute(statement)

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except (TTransportException, OSError, HttpError) as error:
            self.close()
            if any(text in str(error) for text in _REFUSED_LOGIN):
                raise CredentialsError(
                    f"hive: HiveServer2 at {self._config.address} rejected the login of {self._user}",
                    hint=f"set `user` of the catalog, and {PASSWORD_VARIABLE} in the environment",
                ) from error
            raise CatalogUnavailableError(
                f"hive: HiveServer2 at {self._config.address} does not answer: {error}",
                hint="check the network and `address`, to which the server may require `;ssl=true`, "
                "`;auth=noSasl` or `;transportMode=http` to be added; the next sync retries it",
            ) from error
        except (Error, TException) as error:
            self.close()
            text = str(error)
            hint = find_hint(text, self._database, is_without_database=_NO_DATABASE in text)
            raise CatalogError(f"hive: cannot {what} in {self._database}: {text}", hint=hint) from error

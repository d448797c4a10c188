"""A Hive Metastore over Thrift, without a JVM; Hive, Spark, Trino, Presto and Impala read it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pymetastore.hive_metastore import ThriftHiveMetastore, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from headwater.config.catalogs import CatalogConfig
from headwater.config.catalogs.hive_address import parse_hive_address
from headwater.errors import CatalogError, CatalogUnavailableError
from headwater.lake.catalogs.catalog_table import CatalogColumn, CatalogTable, PartitionValues, StorageFormat
from headwater.lake.catalogs.hive.refusals import find_hint
from headwater.lake.catalogs.planning import TableChange, iter_batches

_MILLISECONDS = 60_000
_ALL = -1
# Otherwise, the metastore lists the table's files on each change.
_WITHOUT_STATISTICS = ttypes.EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})


class HiveMetastoreCatalog:
    """One connection, opened on first use and reopened after a failure. See `Catalog`."""

    def __init__(self, config: CatalogConfig) -> None:
        self._config = config
        self._database = config.database
        self._address = parse_hive_address(str(config.address))
        self._transport: Any = None
        self._connected: Any = None

    def narrow(self, entry: CatalogTable) -> CatalogTable:
        """See `Catalog`."""
        return replace(entry, files=None)

    def read(self, name: str) -> CatalogTable | None:
        """See `Catalog`."""
        with self._explained(f"read {name}"):
            found = self._find_table(name)
            if found is None:
                return None
            partitions = {}
            if found.partitionKeys:
                listed = self._client.get_partitions(self._database, name, _ALL)
                partitions = {tuple(one.values): str(one.sd.location) for one in listed}
            return _build_table(found, partitions)

    def apply(self, change: TableChange) -> None:
        """See `Catalog`."""
        if change.is_empty:
            return
        with self._explained(f"change {change.table.name}"):
            if change.is_new:
                self._create(change.table)
            else:
                self._update(change.table)
            self._write_partitions(change)

    def close(self) -> None:
        """See `Catalog`."""
        if self._transport is not None:
            self._transport.close()
        self._transport = self._connected = None

    @property
    def _client(self) -> Any:
        if self._connected is None:
            socket = TSocket(self._address.host, self._address.port)
            socket.setTimeout(_MILLISECONDS)
            self._transport = TBufferedTransport(socket)
            self._transport.open()
            self._connected = ThriftHiveMetastore.Client(TBinaryProtocol(self._transport))
        return self._connected

    def _find_table(self, name: str) -> Any:
        # Hive 4 removed `get_table`.
        try:
            return self._client.get_table_req(ttypes.GetTableRequest(self._database, name)).table
        except ttypes.NoSuchObjectException:
            return None

    def _create(self, table: CatalogTable) -> None:
        if self._config.create_database:
            self._ensure_database()
        made = ttypes.Table(
            tableName=table.name,
            dbName=self._database,
            owner="headwater",
            createTime=0,
            lastAccessTime=0,
            retention=0,
            sd=_build_storage(table, table.location),
            partitionKeys=_write_columns(table.partition_keys, {}),
            parameters=dict(table.properties),
            tableType="EXTERNAL_TABLE",
        )
        self._client.create_table_with_environment_context(made, _WITHOUT_STATISTICS)

    def _ensure_database(self) -> None:
        try:
            self._client.get_database(self._database)
        except ttypes.NoSuchObjectException:
            try:
                self._client.create_database(ttypes.Database(name=self._database, parameters={}))
            except ttypes.AlreadyExistsException:
                return

    def _update(self, table: CatalogTable) -> None:
        found = self._find_table(table.name)
        if found is None:
            raise CatalogUnavailableError(
                f"hive: {self._database}.{table.name} was deleted concurrently",
                hint="the next sync re-creates it",
            )
        comments = {column.name: column.comment for column in found.sd.cols if column.comment}
        storage = _build_storage(table, table.location, comments)
        # Keep storage settings of other tools, such as buckets and sort columns.
        found.sd.cols, found.sd.serdeInfo = storage.cols, storage.serdeInfo
        found.sd.inputFormat, found.sd.outputFormat = storage.inputFormat, storage.outputFormat
        found.parameters = dict(table.properties)
        self._client.alter_table_with_environment_context(
            self._database, table.name, found, _WITHOUT_STATISTICS
        )

    def _write_partitions(self, change: TableChange) -> None:
        name = change.table.name
        for some in iter_batches(change.added.items()):
            parts = [self._build_partition(change.table, values, location) for values, location in some]
            request = ttypes.AddPartitionsRequest(
                self._database, name, parts, ifNotExists=True, needResult=False
            )
            self._client.add_partitions_req(request)
        for some in iter_batches(change.moved.items()):
            parts = [self._build_partition(change.table, values, location) for values, location in some]
            self._client.alter_partitions(self._database, name, parts)
        for values in change.dropped:
            try:
                # False keeps the files, even if the metastore treats the table as managed.
                self._client.drop_partition(self._database, name, list(values), False)
            except ttypes.NoSuchObjectException:
                continue

    def _build_partition(self, table: CatalogTable, values: PartitionValues, location: str) -> Any:
        return ttypes.Partition(
            values=list(values),
            dbName=self._database,
            tableName=table.name,
            createTime=0,
            lastAccessTime=0,
            sd=_build_storage(table, location),
            parameters={},
        )

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except (TTransportException, OSError) as error:
            self.close()
            raise CatalogUnavailableError(
                f"hive: the metastore at {self._config.address} does not answer: {error}",
                hint="check `address` and the network; the next sync retries it",
            ) from error
        except TException as error:
            self.close()
            text = str(getattr(error, "message", None) or error)
            is_without = isinstance(error, ttypes.InvalidObjectException) and self._database in text
            hint = find_hint(text, self._database, is_without_database=is_without)
            raise CatalogError(f"hive: cannot {what} in {self._database}: {text}", hint=hint) from error


def _build_table(found: Any, partitions: Mapping[PartitionValues, str]) -> CatalogTable:
    storage = found.sd
    return CatalogTable(
        name=found.tableName,
        location=storage.location or "",
        columns=_build_columns(storage.cols),
        format=StorageFormat(
            storage.inputFormat or "", storage.outputFormat or "", storage.serdeInfo.serializationLib or ""
        ),
        partition_keys=_build_columns(found.partitionKeys),
        partitions=partitions,
        properties=found.parameters or {},
        serde_properties=storage.serdeInfo.parameters or {},
    )


def _build_columns(found: Iterable[Any]) -> tuple[CatalogColumn, ...]:
    return tuple(CatalogColumn(one.name, one.type) for one in found)


def _build_storage(table: CatalogTable, location: str, comments: Mapping[str, str] | None = None) -> Any:
    return ttypes.StorageDescriptor(
        cols=_write_columns(table.columns, comments or {}),
        location=location,
        inputFormat=table.format.input_format,
        outputFormat=table.format.output_format,
        compressed=False,
        numBuckets=-1,
        serdeInfo=ttypes.SerDeInfo(
            serializationLib=table.format.serde,
            parameters={"serialization.format": "1", **table.serde_properties},
        ),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )


def _write_columns(columns: Sequence[CatalogColumn], comments: Mapping[str, str]) -> list[Any]:
    return [ttypes.FieldSchema(one.name, one.type, comments.get(one.name)) for one in columns]

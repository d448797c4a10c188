"""The AWS Glue Data Catalog, which Athena, EMR, Redshift Spectrum and Lake Formation read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from headwater.config.catalogs import CatalogConfig
from headwater.errors import CatalogError, CatalogUnavailableError, CredentialsError
from headwater.lake.catalogs.catalog_table import CatalogColumn, CatalogTable, PartitionValues, StorageFormat
from headwater.lake.catalogs.planning import TableChange, iter_batches, normalize_location

_SECONDS = 10
_RIGHTS = (
    "allow glue:GetTable, GetPartitions, CreateTable, UpdateTable, BatchCreatePartition, "
    "BatchUpdatePartition, DeletePartition, GetDatabase and CreateDatabase on the catalog, the database "
    "and its tables"
)
_NOT_FOUND = "EntityNotFoundException"
_EXISTS = "AlreadyExistsException"
_DENIED = frozenset(
    {"AccessDenied", "AccessDeniedException", "UnrecognizedClientException", "ExpiredTokenException"}
)
_LATER = frozenset(
    {
        "ConcurrentModificationException",
        "ConcurrentRunsExceededException",
        "InternalServiceException",
        "OperationTimeoutException",
        "ThrottlingException",
    }
)
# Entry fields that others may have set. Glue drops them unless an update repeats them.
_KEPT = ("Description", "Owner", "Retention", "TableType", "ViewOriginalText", "ViewExpandedText")


class GlueCatalog:
    """One database in the catalog of one account and region. See `Catalog`."""

    def __init__(self, config: CatalogConfig, client: Any = None) -> None:
        self._config = config
        self._database = config.database
        self._ids = {"CatalogId": config.catalog_id} if config.catalog_id else {}
        self._client: Any = client or _build_client(config)

    def narrow(self, entry: CatalogTable) -> CatalogTable:
        """See `Catalog`."""
        return replace(entry, files=None)

    def read(self, name: str) -> CatalogTable | None:
        """See `Catalog`."""
        with self._explained():
            found = self._find_table(name)
            if found is None:
                return None
            keys = found.get("PartitionKeys") or []
            return _build_table(found, self._read_partitions(name) if keys else {})

    def apply(self, change: TableChange) -> None:
        """See `Catalog`."""
        if change.is_empty:
            return
        with self._explained():
            if change.is_new:
                self._create(change.table)
            elif change.is_redefined or _notes_progress(change):
                self._update(change.table)
            self._write_partitions(change)

    def close(self) -> None:
        """See `Catalog`."""
        self._client.close()

    def _find_table(self, name: str) -> Mapping[str, Any] | None:
        try:
            found: Mapping[str, Any] = self._client.get_table(
                DatabaseName=self._database, Name=name, **self._ids
            )
        except ClientError as error:
            if _code(error) == _NOT_FOUND:
                return None
            raise
        table: Mapping[str, Any] = found["Table"]
        return table

    def _read_partitions(self, name: str) -> dict[PartitionValues, str]:
        pages = self._client.get_paginator("get_partitions").paginate(
            DatabaseName=self._database, TableName=name, ExcludeColumnSchema=True, **self._ids
        )
        return {
            tuple(one["Values"]): one["StorageDescriptor"]["Location"]
            for page in pages
            for one in page["Partitions"]
        }

    def _create(self, table: CatalogTable) -> None:
        if self._config.create_database:
            self._ensure_database()
        self._client.create_table(
            DatabaseName=self._database, TableInput=_build_input(table, {}), **self._ids
        )

    def _ensure_database(self) -> None:
        try:
            self._client.get_database(Name=self._database, **self._ids)
        except ClientError as error:
            if _code(error) != _NOT_FOUND:
                raise
            try:
                self._client.create_database(DatabaseInput={"Name": self._database}, **self._ids)
            except ClientError as race:
                if _code(race) != _EXISTS:
                    raise

    def _update(self, table: CatalogTable) -> None:
        found = self._find_table(table.name)
        if found is None:
            raise CatalogUnavailableError(
                f"glue: {self._database}.{table.name} was deleted concurrently",
                hint="the next sync re-creates it",
            )
        # Send the version that was read, so that a concurrent change is not overwritten. Archive no version
        # per sync.
        version = {"VersionId": found["VersionId"]} if found.get("VersionId") else {}
        self._client.update_table(
            DatabaseName=self._database,
            TableInput=_build_input(table, found),
            SkipArchive=True,
            **version,
            **self._ids,
        )

    def _write_partitions(self, change: TableChange) -> None:
        table = {"DatabaseName": self._database, "TableName": change.table.name, **self._ids}
        for some in iter_batches(change.added.items()):
            inputs = [_build_partition(change.table, values, location) for values, location in some]
            self._check(self._client.batch_create_partition(PartitionInputList=inputs, **table), _EXISTS)
        for some in iter_batches(change.moved.items()):
            entries = [
                {
                    "PartitionValueList": list(values),
                    "PartitionInput": _build_partition(change.table, values, location),
                }
                for values, location in some
            ]
            self._check(self._client.batch_update_partition(Entries=entries, **table), _NOT_FOUND)
        for values in change.dropped:
            try:
                self._client.delete_partition(PartitionValues=list(values), **table)
            except ClientError as error:
                if _code(error) != _NOT_FOUND:
                    raise

    def _check(self, answer: Mapping[str, Any], accepted: str) -> None:
        errors = [one for one in answer.get("Errors") or [] if one["ErrorDetail"]["ErrorCode"] != accepted]
        if errors:
            detail = errors[0]["ErrorDetail"]
            first = f"{detail['ErrorCode']}: {detail.get('ErrorMessage')}"
            raise CatalogError(
                f"glue: {len(errors)} partitions were rejected; the first: {first}",
                hint="the others are in the catalog; the next sync retries these",
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except ClientError as error:
            raise self._explain(error) from error
        except ParamValidationError as error:
            raise CatalogError(f"glue: {error}", hint="Glue does not accept this table definition") from error
        except BotoCoreError as error:
            where = self._config.endpoint or f"region {self._client.meta.region_name}"
            raise CatalogUnavailableError(
                f"glue does not answer at {where}: {error}", hint="check the network, `region` and `endpoint`"
            ) from error

    def _explain(self, error: ClientError) -> CatalogError | CredentialsError:
        code, operation = _code(error), error.operation_name
        text = f"glue: {operation} in {self._database}: {code}: {error.response['Error'].get('Message', '')}"
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code in _DENIED:
            return CredentialsError(text, hint=_RIGHTS)
        if code in _LATER or status >= 500:
            return CatalogUnavailableError(text, hint="the next sync retries it")
        if code == _NOT_FOUND and operation == "CreateTable":
            hint = f"create the database {self._database}, or set `create_database: true`"
            return CatalogError(text, hint=hint)
        return CatalogError(text, hint="Glue's message names the reason")


def _build_client(config: CatalogConfig) -> Any:
    options = Config(
        connect_timeout=_SECONDS,
        read_timeout=_SECONDS,
        retries={"mode": "standard", "total_max_attempts": 4},
    )
    try:
        return boto3.client("glue", region_name=config.region, endpoint_url=config.endpoint, config=options)
    except BotoCoreError as error:
        raise CredentialsError(f"glue: {error}", hint="set `region`, or AWS_REGION") from error


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", "")).rsplit("#", 1)[-1]


def _notes_progress(change: TableChange) -> bool:
    return bool(change.added or change.moved or change.dropped)


def _build_table(found: Mapping[str, Any], partitions: Mapping[PartitionValues, str]) -> CatalogTable:
    storage = found.get("StorageDescriptor") or {}
    serde = storage.get("SerdeInfo") or {}
    return CatalogTable(
        name=found["Name"],
        location=storage.get("Location", ""),
        columns=_build_columns(storage.get("Columns") or []),
        format=StorageFormat(
            storage.get("InputFormat", ""),
            storage.get("OutputFormat", ""),
            serde.get("SerializationLibrary", ""),
        ),
        partition_keys=_build_columns(found.get("PartitionKeys") or []),
        partitions=partitions,
        properties=found.get("Parameters") or {},
        serde_properties=serde.get("Parameters") or {},
    )


def _build_columns(found: Iterable[Mapping[str, str]]) -> tuple[CatalogColumn, ...]:
    return tuple(CatalogColumn(one["Name"], one.get("Type", "")) for one in found)


def _build_input(table: CatalogTable, held: Mapping[str, Any]) -> dict[str, Any]:
    """Build the Glue input; fields of the existing entry `held` that headwater does not manage are kept."""
    storage = held.get("StorageDescriptor") or {}
    known = [*(storage.get("Columns") or []), *(held.get("PartitionKeys") or [])]
    comments = {one["Name"]: one["Comment"] for one in known if one.get("Comment")}
    kept = {key: held[key] for key in _KEPT if held.get(key)}
    return {
        "TableType": "EXTERNAL_TABLE",
        **kept,
        "Name": table.name,
        "Parameters": dict(table.properties),
        "PartitionKeys": _write_columns(table.partition_keys, comments),
        "StorageDescriptor": {**storage, **_build_storage(table, table.location, comments)},
    }


def _build_partition(table: CatalogTable, values: PartitionValues, location: str) -> dict[str, Any]:
    return {"Values": list(values), "StorageDescriptor": _build_storage(table, location, {})}


def _build_storage(table: CatalogTable, location: str, comments: Mapping[str, str]) -> dict[str, Any]:
    return {
        "Columns": _write_columns(table.columns, comments),
        # Athena does not support `s3a://`.
        "Location": normalize_location(location),
        "InputFormat": table.format.input_format,
        "OutputFormat": table.format.output_format,
        "SerdeInfo": {
            "SerializationLibrary": table.format.serde,
            "Parameters": {"serialization.format": "1", **table.serde_properties},
        },
    }


def _write_columns(columns: Sequence[CatalogColumn], comments: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {"Name": column.name, "Type": column.type}
        | ({"Comment": comments[column.name]} if column.name in comments else {})
        for column in columns
    ]

"""BigQuery through its own client: one external table per table, as Hudi's `BigQuerySyncTool` creates it.

BigQuery reads the files in the manifest and takes partition values from their folder names.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import google.auth
from google.api_core import exceptions
from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, RefreshError, TransportError
from google.cloud import bigquery
from google.cloud.bigquery.external_config import ExternalConfig
from requests.exceptions import RequestException

from headwater.config.catalogs import CatalogConfig
from headwater.errors import CatalogConflictError, CatalogError, CatalogUnavailableError, CredentialsError
from headwater.lake.catalogs.bigquery.column_types import build_field, build_type, describe_field
from headwater.lake.catalogs.bigquery.manifest import (
    FOLDER,
    build_manifest_uri,
    read_manifest,
    write_manifest,
)
from headwater.lake.catalogs.catalog_table import CatalogColumn, CatalogTable, StorageFormat
from headwater.lake.catalogs.planning import SPARK_SCHEMA, TableChange

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_SCOPES = ("https://www.googleapis.com/auth/bigquery",)
_SECONDS = 30
_ASKED_AGAIN = bigquery.DEFAULT_RETRY.with_timeout(5)
_LATER = frozenset({"backendError", "internalError", "quotaExceeded", "rateLimitExceeded"})
_INPUT_FORMAT = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
_NO_FORMAT = StorageFormat("", "", "")
_RIGHTS = "allow bigquery.datasets.get and create, bigquery.tables.get, create and update on the dataset"


class BigQueryCatalog:
    """One dataset of a project. See `Catalog`."""

    def __init__(self, config: CatalogConfig) -> None:
        self._config = config
        self._dataset = f"{config.project}.{config.database}"
        options = ClientOptions(api_endpoint=config.endpoint) if config.endpoint else None
        self._client = bigquery.Client(config.project, _find_credentials(config), client_options=options)

    def narrow(self, entry: CatalogTable) -> CatalogTable:
        """See `Catalog`. Keeps column names as in the files; BigQuery discovers partitions itself."""
        written = {field.name.lower(): field for field in _read_spark_schema(entry)}
        keys = {key.name for key in entry.partition_keys}
        _check_readable(entry, sorted(keys & set(written)))
        fields = [written[column.name] for column in entry.columns]
        return replace(
            entry,
            columns=tuple(CatalogColumn(one.name, build_type(one.dataType, one.name)) for one in fields),
            format=_NO_FORMAT,
            partitions={},
            properties={},
            serde_properties={},
        )

    def read(self, name: str) -> CatalogTable | None:
        """See `Catalog`."""
        with self._explained(f"read {name}"):
            found = self._find_table(name)
        if found is None:
            return None
        external = found.external_data_configuration
        if external is None:
            raise CatalogConflictError(
                f"bigquery: {self._dataset}.{name} exists as a {found.table_type.lower()}, not as an "
                "external table",
                hint="give this table another name with `table_names`, or drop the existing one",
            )
        location = (external.source_uris or [""])[0].partition(f"/{FOLDER}/")[0]
        partitioning = _read_partitioning(external)
        keys = [str(key) for key in partitioning.get("fields") or ()]
        fields = [field.to_api_repr() for field in found.schema]
        types = {field["name"]: describe_field(field) for field in fields}
        return CatalogTable(
            name=name,
            location=location,
            columns=tuple(CatalogColumn(one, kind) for one, kind in types.items() if one not in keys),
            format=_NO_FORMAT,
            partition_keys=tuple(CatalogColumn(key.lower(), types.get(key, "")) for key in keys),
            files=self._read_files(location),
        )

    def apply(self, change: TableChange) -> None:
        """See `Catalog`. Writes the manifest first, because BigQuery reads it when a table is created."""
        if change.is_empty:
            return
        with self._explained(f"change {change.table.name}"):
            if change.is_new and self._config.create_database:
                self._ensure_dataset()
            if change.has_new_files:
                self._write_files(change.table)
            if change.is_new:
                self._create(change.table)
            elif change.is_redefined:
                self._update(change.table)

    def close(self) -> None:
        """See `Catalog`."""
        self._client.close()

    def _find_table(self, name: str) -> bigquery.Table | None:
        try:
            return self._client.get_table(f"{self._dataset}.{name}", retry=_ASKED_AGAIN, timeout=_SECONDS)
        except exceptions.NotFound:
            return None

    def _ensure_dataset(self) -> None:
        try:
            self._client.get_dataset(self._dataset, retry=_ASKED_AGAIN, timeout=_SECONDS)
        except exceptions.NotFound:
            wanted = bigquery.Dataset(self._dataset)
            wanted.location = self._config.region
            self._client.create_dataset(wanted, exists_ok=True, retry=_ASKED_AGAIN, timeout=_SECONDS)

    def _create(self, table: CatalogTable) -> None:
        fields = [build_field(column.name, column.type) for column in table.columns]
        made = bigquery.Table(f"{self._dataset}.{table.name}", schema=fields)
        made.external_data_configuration = _build_external(table, fields)
        try:
            self._client.create_table(made, retry=_ASKED_AGAIN, timeout=_SECONDS)
        except exceptions.Conflict as error:
            raise CatalogUnavailableError(
                f"bigquery: {self._dataset}.{table.name} was created concurrently",
                hint="the next sync reads it again",
            ) from error

    def _update(self, table: CatalogTable) -> None:
        found = self._find_table(table.name)
        if found is None or found.external_data_configuration is None:
            raise CatalogUnavailableError(
                f"bigquery: {self._dataset}.{table.name} was deleted concurrently",
                hint="the next sync re-creates it",
            )
        held = {field.name: field.to_api_repr() for field in found.schema}
        external = found.external_data_configuration.to_api_repr()
        fields = [build_field(column.name, column.type, held.get(column.name)) for column in table.columns]
        # BigQuery fixes the types of partition values when the table is created.
        keys = _read_partitioning(found.external_data_configuration).get("fields") or ()
        found.schema = [*fields, *(held[key] for key in keys if key in held)]
        changed = ["schema"]
        if not external.get("connectionId"):
            # Only a table over a connection has a schema of its own.
            external |= {"autodetect": False, "schema": {"fields": fields}}
            found.external_data_configuration = ExternalConfig.from_api_repr(external)
            changed.append("external_data_configuration")
        # Send the ETag that was read, so that a concurrent change by another writer is not overwritten.
        self._client.update_table(found, changed, retry=_ASKED_AGAIN, timeout=_SECONDS)

    def _read_files(self, location: str) -> tuple[str, ...] | None:
        try:
            return read_manifest(location) if location else None
        except OSError as error:
            raise CatalogError(
                f"bigquery: cannot read the manifest {build_manifest_uri(location)}: {error}",
                hint="check that this process can read the lake",
            ) from error

    def _write_files(self, table: CatalogTable) -> None:
        try:
            write_manifest(table.location, table.files or ())
        except OSError as error:
            raise CatalogError(
                f"bigquery: cannot write the manifest {build_manifest_uri(table.location)}: {error}",
                hint="check that this process can write to the lake",
            ) from error

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except exceptions.RetryError as error:
            raise self._explain(what, error.cause or error) from error
        except (exceptions.GoogleAPICallError, GoogleAuthError, RequestException) as error:
            raise self._explain(what, error) from error

    def _explain(self, what: str, error: BaseException) -> CatalogError | CredentialsError:
        text = f"bigquery: cannot {what} in {self._dataset}: {error}"
        if isinstance(error, exceptions.GoogleAPICallError):
            return self._explain_answer(text, error)
        if isinstance(error, RefreshError):
            return CredentialsError(text, hint="log in again: gcloud auth application-default login")
        if isinstance(error, (TransportError, RequestException)):
            where = self._config.endpoint or "its address"
            return CatalogUnavailableError(
                f"bigquery does not answer at {where}: {error}", hint="check the network and `endpoint`"
            )
        return CatalogError(text, hint="`headwater doctor` checks the connection")

    def _explain_answer(
        self, text: str, error: exceptions.GoogleAPICallError
    ) -> CatalogError | CredentialsError:
        reasons = {str(one.get("reason")) for one in error.errors or () if isinstance(one, Mapping)}
        status = int(error.code or 0)
        if status >= 500 or status == 429 or reasons & _LATER:
            return CatalogUnavailableError(text, hint="the next sync retries it")
        if status == 412:
            return CatalogUnavailableError(
                text, hint="another process changed it; the next sync reads it again"
            )
        if status in (401, 403):
            return CredentialsError(text, hint=_RIGHTS)
        if status == 404:
            hint = f"create the dataset {self._config.database}, or set `create_database: true`"
            return CatalogError(text, hint=hint)
        return CatalogError(text, hint="BigQuery's message names the reason")


def _find_credentials(config: CatalogConfig) -> Any:
    try:
        credentials, _ = google.auth.default(scopes=_SCOPES)
    except DefaultCredentialsError as error:
        if config.endpoint:
            return AnonymousCredentials()
        raise CredentialsError(
            f"bigquery: {error}",
            hint="gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS",
        ) from error
    return credentials


def _read_spark_schema(entry: CatalogTable) -> "StructType":
    """Return the columns with the names and types of the files."""
    from pyspark.sql.types import StructType

    count = int(entry.properties[f"{SPARK_SCHEMA}numParts"])
    text = "".join(entry.properties[f"{SPARK_SCHEMA}part.{number}"] for number in range(count))
    return StructType.fromJson(json.loads(text))


def _check_readable(entry: CatalogTable, written_keys: list[str]) -> None:
    if entry.format.input_format != _INPUT_FORMAT:
        raise CatalogError(
            f"bigquery does not support {entry.name}: it reads only Parquet files of copy-on-write tables",
            hint="create it with `table_type: copy_on_write` and `base_file_format: parquet`, or `exclude` "
            "it",
        )
    if entry.files is None:
        raise CatalogError(
            f"bigquery does not support {entry.name}: some rows are stored in its bootstrap source files",
            hint="bootstrap it with `--mode full-record`, which rewrites the rows, or `exclude` it",
        )
    if written_keys:
        raise CatalogError(
            f"bigquery does not support {entry.name}: its files contain the partition columns "
            f"{', '.join(written_keys)}",
            hint="create the table with `drop_partition_columns: true`, or `exclude` it",
        )
    keys = [key.name for key in entry.partition_keys]
    for location in entry.partitions.values():
        folder = location.removeprefix(entry.location.rstrip("/")).strip("/")
        names = [part.partition("=")[0].lower() if "=" in part else "" for part in folder.split("/")]
        if names != keys:
            raise CatalogError(
                f"bigquery does not support {entry.name}: partition folder {folder} lacks the column names "
                f"({', '.join(keys)})",
                hint="create the table with `partition_style: hive`, or `exclude` it",
            )


def _read_partitioning(external: ExternalConfig) -> Mapping[str, Any]:
    found: Mapping[str, Any] = external.to_api_repr().get("hivePartitioningOptions") or {}
    return found


def _build_external(table: CatalogTable, fields: list[dict[str, Any]]) -> ExternalConfig:
    # The Python client has no attribute for the manifest and the schema of an external table; the REST API
    # has.
    wanted: dict[str, Any] = {
        "sourceFormat": "PARQUET",
        "sourceUris": [build_manifest_uri(table.location)],
        "fileSetSpecType": "FILE_SET_SPEC_TYPE_NEW_LINE_DELIMITED_MANIFEST",
        "autodetect": False,
        "schema": {"fields": fields},
        "parquetOptions": {"enableListInference": True},
    }
    if table.partition_keys:
        wanted["hivePartitioningOptions"] = {"mode": "AUTO", "sourceUriPrefix": f"{table.location}/"}
    return ExternalConfig.from_api_repr(wanted)

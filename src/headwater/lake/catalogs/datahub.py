"""DataHub through the REST API of its metadata service: the columns and the location of each table.

Sends one proposal per aspect, as DataHub's SDK does. The SDK is no dependency, because only two of its
requests would be used.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from urllib3 import PoolManager, Retry, Timeout
from urllib3.exceptions import HTTPError

from headwater.config.catalogs import CatalogConfig
from headwater.errors import CatalogError, CatalogUnavailableError, CredentialsError
from headwater.lake.catalogs.catalog_table import CatalogColumn, CatalogTable, StorageFormat
from headwater.lake.catalogs.planning import TableChange

TOKEN_VARIABLE = "DATAHUB_GMS_TOKEN"  # noqa: S105 - the variable's name, as in DataHub's own tools
_PLATFORM = "urn:li:dataPlatform:hudi"
_SCHEMA, _PROPERTIES, _STATUS = "schemaMetadata", "datasetProperties", "status"
_SCHEMA_TYPE = "com.linkedin.schema.SchemaMetadata"
_PROPERTIES_TYPE = "com.linkedin.dataset.DatasetProperties"
# Prefix of the entry fields that DataHub has no field for; they are stored among the table's properties.
_OWN = "headwater."
_KINDS = {
    "array": "ArrayType",
    "binary": "BytesType",
    "boolean": "BooleanType",
    "date": "DateType",
    "map": "MapType",
    "string": "StringType",
    "struct": "RecordType",
    "timestamp": "TimeType",
}


class DataHubCatalog:
    """The entries of one DataHub instance, without partitions. See `Catalog`."""

    def __init__(self, config: CatalogConfig, token: str = "") -> None:
        self._config = config
        self._address = (config.address or "").rstrip("/")
        self._headers = {"X-RestLi-Protocol-Version": "2.0.0", "Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        # Proposals are idempotent, so a retry of any method is safe.
        again = Retry(3, backoff_factor=0.2, status_forcelist=(429, 502, 503, 504), allowed_methods=None)
        again.raise_on_status = False
        self._pool = PoolManager(timeout=Timeout(connect=10, read=30), retries=again)

    def narrow(self, entry: CatalogTable) -> CatalogTable:
        """See `Catalog`."""
        return replace(entry, partitions={}, files=None)

    def read(self, name: str) -> CatalogTable | None:
        """See `Catalog`."""
        schema = self._read_aspect(name, _SCHEMA, _SCHEMA_TYPE)
        properties = self._read_aspect(name, _PROPERTIES, _PROPERTIES_TYPE)
        if schema is None or properties is None:
            return None
        return _build_table(name, schema, properties.get("customProperties") or {})

    def apply(self, change: TableChange) -> None:
        """See `Catalog`."""
        if change.is_empty:
            return
        table = change.table
        held = self._read_aspect(table.name, _PROPERTIES, _PROPERTIES_TYPE) or {}
        schema = self._read_aspect(table.name, _SCHEMA, _SCHEMA_TYPE) or {}
        self._propose(
            table.name, _SCHEMA, _build_schema(f"{self._config.database}.{table.name}", table, schema)
        )
        properties = {**held, "name": table.name, "customProperties": _build_properties(table)}
        self._propose(table.name, _PROPERTIES, properties)
        # DataHub hides a soft-deleted entity until `removed` is reset.
        self._propose(table.name, _STATUS, {"removed": False})

    def close(self) -> None:
        """See `Catalog`."""
        self._pool.clear()

    def _build_urn(self, name: str) -> str:
        return f"urn:li:dataset:({_PLATFORM},{self._config.database}.{name},{self._config.environment})"

    def _read_aspect(self, name: str, aspect: str, kind: str) -> dict[str, Any] | None:
        urn = quote(self._build_urn(name), safe="")
        found = self._ask("GET", f"/aspects/{urn}?aspect={aspect}&version=0", None)
        if found is None:
            return None
        value: dict[str, Any] = found["aspect"][kind]
        return value

    def _propose(self, name: str, aspect: str, value: Mapping[str, Any]) -> None:
        proposal = {
            "entityType": "dataset",
            "entityUrn": self._build_urn(name),
            "changeType": "UPSERT",
            "aspectName": aspect,
            "aspect": {"contentType": "application/json", "value": json.dumps(value)},
        }
        self._ask("POST", "/aspects?action=ingestProposal", json.dumps({"proposal": proposal}))

    def _ask(self, method: str, target: str, body: str | None) -> dict[str, Any] | None:
        """Return the response, or None if a GET returns 404."""
        try:
            answer = self._pool.request(method, f"{self._address}{target}", body=body, headers=self._headers)
        except HTTPError as error:
            raise CatalogUnavailableError(
                f"datahub does not answer at {self._address}: {error}", hint="check `address` and the network"
            ) from error
        text = answer.data.decode("utf-8", "replace")
        if answer.status == 404 and method == "GET":
            return None
        if answer.status in (401, 403):
            raise CredentialsError(
                f"datahub rejected {method} with status {answer.status}",
                hint=f"set {TOKEN_VARIABLE} to a valid access token",
            )
        if answer.status == 429 or answer.status >= 500:
            raise CatalogUnavailableError(
                f"datahub: {answer.status}: {text[:300]}", hint="the next sync retries it"
            )
        try:
            if answer.status < 300:
                found: dict[str, Any] = json.loads(text or "{}")
                return found
        except ValueError:
            text = f"not JSON: {text}"
        raise CatalogError(
            f"datahub: {answer.status}: {text[:300]}",
            hint="`address` must be that of the metadata service (port 8080), not of the web page",
        )


def _build_table(name: str, schema: Mapping[str, Any], properties: Mapping[str, str]) -> CatalogTable:
    columns: list[CatalogColumn] = []
    keys: list[CatalogColumn] = []
    for one in schema.get("fields") or []:
        column = CatalogColumn(one["fieldPath"], one["nativeDataType"])
        (keys if one.get("isPartitioningKey") else columns).append(column)
    own = {key.removeprefix(_OWN): value for key, value in properties.items() if key.startswith(_OWN)}
    serde = {key.removeprefix("serde."): value for key, value in own.items() if key.startswith("serde.")}
    return CatalogTable(
        name=name,
        location=own.get("location", ""),
        columns=tuple(columns),
        format=StorageFormat(own.get("input_format", ""), own.get("output_format", ""), own.get("serde", "")),
        partition_keys=tuple(keys),
        properties={key: value for key, value in properties.items() if not key.startswith(_OWN)},
        serde_properties=serde,
    )


def _build_properties(table: CatalogTable) -> dict[str, str]:
    own = {
        "location": table.location,
        "input_format": table.format.input_format,
        "output_format": table.format.output_format,
        "serde": table.format.serde,
    }
    own |= {f"serde.{key}": value for key, value in table.serde_properties.items()}
    return {**table.properties, **{f"{_OWN}{key}": value for key, value in own.items()}}


def _build_schema(name: str, table: CatalogTable, held: Mapping[str, Any]) -> dict[str, Any]:
    """Build the schema aspect; field attributes that others set are kept."""
    known = {one["fieldPath"]: one for one in held.get("fields") or []}
    keys = set(table.partition_keys)
    return {
        **held,
        "schemaName": name,
        "platform": _PLATFORM,
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": [
            {
                **known.get(column.name, {}),
                "fieldPath": column.name,
                "nativeDataType": column.type,
                "nullable": True,
                "type": {"type": {f"com.linkedin.schema.{_find_kind(column.type)}": {}}},
                "isPartitioningKey": column in keys,
            }
            for column in (*table.columns, *table.partition_keys)
        ],
    }


def _find_kind(native: str) -> str:
    return _KINDS.get(native.partition("<")[0].partition("(")[0], "NumberType")

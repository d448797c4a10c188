"""Reads schemas from a registry with Confluent's REST API. They never change, so each is fetched once."""

import json
import time
import urllib.error
import urllib.request
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any
from urllib.parse import quote

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from headwater.config.environment import read_environment
from headwater.config.extras.packages import importing_extra
from headwater.config.registry import PASSWORD_VARIABLE, TOKEN_VARIABLE, USER_VARIABLE, read_authorization
from headwater.errors import ConfigError, RegistryUnavailableError
from headwater.ingest.formats.binary_records.avro_references import inline_references
from headwater.ingest.formats.binary_records.faults import UnknownSchemaError
from headwater.ingest.formats.binary_records.record_schema import RecordSchema

_TIMEOUT = 10
"""Of a request, in seconds."""
_ATTEMPTS = 4
_ASKED_AGAIN_AFTER = 60.0
"""Seconds after which the registry is asked again for an id that it did not have."""
_HEADERS = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
_RETRIED = (408, 429)
_NOT_FOUND = 404
_MOST_REFERENCES = 500


class _NotFoundError(Exception):
    """Raised for a subject, a version or an id that the registry does not have."""


class _UnusableSchemaError(ConfigError):
    """Raised for a schema that exists, and that no table can use."""


class SchemaRegistry:
    """One registry. Raises RegistryUnavailableError after several attempts, and ConfigError if it refuses."""

    def __init__(
        self,
        url: str,
        authorization: str = "",
        *,
        timeout: float = _TIMEOUT,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._now = now
        self._authorization = authorization
        self._timeout = timeout
        self._by_id: dict[int, RecordSchema] = {}
        self._unknown: dict[int, tuple[float, str]] = {}
        self._retry = Retrying(
            retry=retry_if_exception_type(RegistryUnavailableError),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random_exponential(multiplier=0.2, max=5),
            reraise=True,
        )

    def find_by_id(self, schema_id: int) -> RecordSchema:
        """Return the schema with an id. Raises UnknownSchemaError."""
        if (known := self._by_id.get(schema_id)) is not None:
            return known
        asked_at, reason = self._unknown.get(schema_id, (-_ASKED_AGAIN_AFTER, ""))
        if self._now() - asked_at < _ASKED_AGAIN_AFTER:
            raise UnknownSchemaError(reason)
        try:
            found = self._get(f"/schemas/ids/{schema_id}?format=serialized")
            self._by_id[schema_id] = self._build(found, f"schema {schema_id} of {self._url}")
        except _NotFoundError as error:
            raise self._note(schema_id, f"the registry has no schema with id {schema_id}") from error
        except _UnusableSchemaError as error:
            raise self._note(schema_id, error.message) from error
        return self._by_id[schema_id]

    def _note(self, schema_id: int, reason: str) -> UnknownSchemaError:
        self._unknown[schema_id] = (self._now(), reason)
        return UnknownSchemaError(reason)

    def find_version(self, subject: str, version: int | None, message: str = "") -> RecordSchema:
        """Return a version of a subject; the latest one without `version`. Raises ConfigError without it."""
        which = "latest" if version is None else str(version)
        origin = f"version {which} of subject {subject!r} of {self._url}"
        try:
            found = self._get(f"/subjects/{quote(subject, safe='')}/versions/{which}?format=serialized")
        except _NotFoundError as error:
            raise ConfigError(
                f"{origin} does not exist: {error}",
                hint="correct `subject` or `version` in the table's `schema`",
            ) from error
        return self._build(found, origin, message)

    def _build(self, found: Mapping[str, Any], origin: str, message: str = "") -> RecordSchema:
        # The type is absent for Avro, which came first.
        kind = found.get("schemaType", "AVRO")
        references = self._list_references(found, origin)
        if kind == "AVRO":
            text = inline_references(str(found["schema"]), references, origin)
            return RecordSchema("avro", text, origin)
        if kind == "PROTOBUF":
            return RecordSchema(
                "protobuf", _join_files(str(found["schema"]), references, origin), origin, message
            )
        raise _UnusableSchemaError(
            f"{origin} has type {kind}, which is not supported. Allowed: AVRO, PROTOBUF",
            hint='write the columns as DDL: `schema: "id bigint, name string"`',
        )

    def _list_references(self, found: Mapping[str, Any], origin: str) -> dict[str, str]:
        """Return the schemas that a schema refers to, by name, each after those that it refers to."""
        listed: dict[str, str] = {}

        def add(user: Mapping[str, Any]) -> None:
            for reference in user.get("references") or ():
                name, subject = reference["name"], reference["subject"]
                if name in listed:
                    continue
                if len(listed) >= _MOST_REFERENCES:
                    raise _UnusableSchemaError(
                        f"{origin} refers to more than {_MOST_REFERENCES} schemas", hint="simplify the schema"
                    )
                # Reserves the name: references in a circle end.
                listed[name] = ""
                version = f"/subjects/{quote(subject, safe='')}/versions/{reference['version']}"
                try:
                    below = self._get(f"{version}?format=serialized")
                except _NotFoundError as error:
                    raise _UnusableSchemaError(
                        f"{origin} refers to {subject!r}, which does not exist: {error}",
                        hint="register the referenced schema",
                    ) from error
                add(below)
                del listed[name]
                listed[name] = str(below["schema"])

        add(found)
        return listed

    def _get(self, path: str) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = self._retry.copy()(self._get_once, path)
        return answer

    def _get_once(self, path: str) -> Mapping[str, Any]:
        request = urllib.request.Request(self._url + path, headers=_HEADERS)  # noqa: S310 - http or https
        if self._authorization:
            # A redirect to another host must not receive it.
            request.add_unredirected_header("Authorization", self._authorization)
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as response:  # noqa: S310
                found = json.loads(response.read())
        except urllib.error.HTTPError as error:
            raise self._explain(error) from error
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise RegistryUnavailableError(
                f"schema registry {self._url} does not answer: {reason}", hint=_CHECK_URL
            ) from error
        if not isinstance(found, dict) or "schema" not in found:
            raise ConfigError(
                f"{self._url} is no schema registry: it answers {found!r:.100}", hint=_CHECK_URL
            )
        return found

    def _explain(self, error: urllib.error.HTTPError) -> Exception:
        with error:
            text = error.read(1_000).decode("utf-8", "replace")
        if error.code == _NOT_FOUND:
            return _NotFoundError(text)
        what = f"schema registry {self._url} answers with status {error.code}: {text[:200]}"
        if error.code in (401, 403):
            names = f"{USER_VARIABLE} and {PASSWORD_VARIABLE}, or {TOKEN_VARIABLE}"
            return ConfigError(what, hint=f"set {names} in the environment, also of Spark's executors")
        if error.code in _RETRIED or error.code >= 500:
            return RegistryUnavailableError(what, hint="the batch is retried; check the registry")
        return ConfigError(what, hint=_CHECK_URL)


_CHECK_URL = "check `registry` in the table's `schema`, and the network"


def _join_files(main: str, references: Mapping[str, str], origin: str) -> str:
    """Return a FileDescriptorSet of the files, which the registry writes as FileDescriptorProto in base64."""
    with importing_extra("protobuf", "a schema of protobuf"):
        from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
        from google.protobuf.message import DecodeError
    joined = FileDescriptorSet()
    for name, text in (*references.items(), ("", main)):
        try:
            file = FileDescriptorProto.FromString(b64decode(text, validate=True))
        except (ValueError, DecodeError) as error:
            raise _UnusableSchemaError(
                f"{origin}: the registry does not support `format=serialized` for protobuf",
                hint="compile the schema to a file, and name that: `schema: {file: NAME, message: TYPE}`",
            ) from error
        # Files import each other by the names of the references.
        file.name = name or file.name or "main.proto"
        joined.file.append(file)
    return b64encode(joined.SerializeToString()).decode()


@cache
def open_registry(url: str) -> SchemaRegistry:
    """Return the registry, with the credentials of the environment. Raises ConfigError."""
    return SchemaRegistry(url, read_authorization(read_environment()))

"""Blobs in Azure Blob Storage. One store per process and configuration."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from azure.core import MatchConditions
from azure.core import exceptions as core

from headwater.config.azure_account import find_dfs_host
from headwater.errors import (
    CredentialsError,
    ObjectForbiddenError,
    ObjectMissingError,
    ObjectSupersededError,
    ObjectTooLargeError,
    ObjectUnavailableError,
)
from headwater.sources.azure.azure_errors import (
    NO_CREDENTIALS_HINT,
    AzureError,
    describe,
    is_busy,
    is_rejected,
    read_code,
)
from headwater.sources.azure.clients import build_blob_client
from headwater.sources.object_store import ObjectContent, ObjectRef, ObjectState

if TYPE_CHECKING:
    from azure.storage.blob import BlobClient, BlobProperties, BlobServiceClient

    from headwater.sources.object_store import ObjectStoreConfig

_RIGHTS = "assign the role Storage Blob Data Reader"
# The service and its client resolve these segments, and then request another blob.
_DOTS = frozenset({".", ".."})


class AzureObjectStore:
    """Reads the current blob, if it still has the etag that is named. Versions are not read."""

    def __init__(self, client: "BlobServiceClient", host: str) -> None:
        self._client = client
        self._host = host

    def read(self, ref: ObjectRef, max_bytes: int | None = None) -> ObjectContent:
        """See `ObjectStore.read`."""
        condition: dict[str, Any] = {}
        if ref.etag is not None:
            condition = {"etag": f'"{ref.etag}"', "match_condition": MatchConditions.IfNotModified}
        with self._asking(ref), self._explaining_change(ref):
            stream = self._open(ref).download_blob(max_concurrency=1, decompress=False, **condition)
            if max_bytes is not None and stream.size > max_bytes:
                raise ObjectTooLargeError(
                    f"{self.uri(ref)} has {stream.size} bytes; the limit for one object is {max_bytes}"
                )
            data = stream.readall()
        if len(data) != stream.size:
            raise self._name_unavailable(ref, f"the body was truncated after {len(data)} bytes")
        return ObjectContent(data, to_state(stream.properties, len(data)))

    def state(self, ref: ObjectRef) -> ObjectState | None:
        """See `ObjectStore.state`."""
        try:
            with self._asking(ref):
                found = self._open(ref).get_blob_properties()
        except ObjectMissingError:
            return None
        return to_state(found, found.size)

    def uri(self, ref: ObjectRef) -> str:
        """Return `abfss://container@account.dfs.core.windows.net/name`."""
        return f"abfss://{ref.bucket}@{self._host}/{ref.key}"

    def _open(self, ref: ObjectRef) -> "BlobClient":
        if _DOTS.intersection(ref.key.split("/")):
            raise ObjectMissingError(f"{self.uri(ref)} does not exist: no blob can have this name")
        try:
            ref.key.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ObjectForbiddenError(
                f"{ref.key!r} cannot be requested: {error}", hint="no blob can have this name"
            ) from error
        return self._client.get_blob_client(ref.bucket, ref.key)

    @contextmanager
    def _asking(self, ref: ObjectRef) -> Iterator[None]:
        """Convert errors of Azure's client raised inside."""
        try:
            yield
        except AzureError as error:
            raise self._explain(error, ref) from error

    @contextmanager
    def _explaining_change(self, ref: ObjectRef) -> Iterator[None]:
        """Distinguish another content from an absent blob: azurite answers both alike."""
        try:
            yield
        except core.ResourceModifiedError as error:
            if self.state(ref) is None:
                raise ObjectMissingError(f"{self.uri(ref)} does not exist") from error
            raise ObjectSupersededError(f"{self.uri(ref)} no longer has etag {ref.etag}") from error

    def _explain(self, error: Exception, ref: ObjectRef) -> Exception:
        where, text = self.uri(ref), describe(error)
        status = error.status_code if isinstance(error, core.HttpResponseError) else None
        if is_rejected(error):
            return CredentialsError(f"{where} cannot be read: {text}", hint=NO_CREDENTIALS_HINT)
        if is_busy(error):
            return self._name_unavailable(ref, text)
        if read_code(error) == "ContainerNotFound":
            # Not a removal: the configuration or the account is wrong.
            return ObjectForbiddenError(
                f"{where} cannot be read: there is no container {ref.bucket}",
                hint="check `source.container` and `source.account`",
            )
        if status in (400, 404):
            return ObjectMissingError(f"{where} does not exist ({status})")
        return ObjectForbiddenError(f"{where} cannot be read: {text}", hint=_RIGHTS)

    def _name_unavailable(self, ref: ObjectRef, reason: str) -> ObjectUnavailableError:
        return ObjectUnavailableError(
            f"{self.uri(ref)} could not be read: {reason}", hint="it will be retried"
        )


def to_state(found: "BlobProperties", size: int) -> ObjectState:
    """Convert the properties of Azure's client."""
    return ObjectState((found.etag or "").strip('"') or None, None, size, found.last_modified)


def build_azure_store(config: "ObjectStoreConfig") -> AzureObjectStore:
    """Build a store with the credentials of its process. Opens no connection."""
    timeouts = (config.connect_timeout, config.read_timeout)
    client = build_blob_client(config.name, config.endpoint, attempts=config.max_attempts, timeouts=timeouts)
    return AzureObjectStore(client, find_dfs_host(config.name, config.endpoint))

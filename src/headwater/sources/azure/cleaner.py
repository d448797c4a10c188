"""Moves or deletes blobs of a container."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from azure.core import MatchConditions
from azure.core import exceptions as core

from headwater.errors import ConfigError, ObjectForbiddenError, SourceUnavailableError
from headwater.sources.azure.azure_errors import asking, read_code
from headwater.sources.azure.clients import build_blob_client
from headwater.sources.azure.lister import to_listed
from headwater.sources.cleaner import CleanResult, CleanTarget
from headwater.sources.lister import ListedObject
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from azure.storage.blob import BlobClient, BlobProperties, BlobServiceClient

    from headwater.config.source import SourceConfig

_RIGHTS = "assign the role Storage Blob Data Contributor"
_POLL_SECONDS = 0.5
_COPY_SECONDS = 3_600.0


class AzureCleaner:
    """Names the etag in each request, so that another content is neither moved nor deleted."""

    def __init__(
        self,
        client: "BlobServiceClient",
        container: str,
        target: CleanTarget,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._container = container
        self._target = target
        self._sleep = sleep

    def clean(self, listed: ListedObject) -> CleanResult:
        """See `SourceCleaner.clean`."""
        blob = self._client.get_blob_client(self._container, listed.key)
        subject = Subject(f"{listed.key!r} in container {self._container}", "source", _RIGHTS)
        with asking(subject):
            found = _find(blob)
            if found is None:
                return "gone"
            if not _is_same(found, listed):
                return "changed"
            try:
                if self._target.action == "move":
                    self._copy(blob, listed.key, found.etag)
                blob.delete_blob(etag=found.etag, match_condition=MatchConditions.IfNotModified)
            except (core.ResourceNotFoundError, core.ResourceModifiedError):
                return self._explain_change(blob, listed)
            except core.ResourceExistsError as error:
                if read_code(error) != "SnapshotsPresent":
                    raise
                raise ObjectForbiddenError(
                    f"{listed.key!r} has snapshots, which headwater never deletes",
                    hint="delete its snapshots, or exclude it from the source",
                ) from error
        return "cleaned"

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _copy(self, blob: "BlobClient", key: str, etag: str) -> None:
        """Copy with metadata, in the service; waits until the copy is complete."""
        container, _, prefix = self._target.move_to.partition("/")
        copy = self._client.get_blob_client(container, prefix + key)
        copy.start_copy_from_url(
            blob.url, source_etag=etag, source_match_condition=MatchConditions.IfNotModified
        )
        deadline = time.monotonic() + _COPY_SECONDS
        while (state := copy.get_blob_properties().copy.status) == "pending":
            if time.monotonic() > deadline:
                break
            self._sleep(_POLL_SECONDS)
        if state != "success":
            raise SourceUnavailableError(
                f"{key!r} was not copied to {container}: {state}", hint="the next pass will copy it again"
            )

    def _explain_change(self, blob: "BlobClient", listed: ListedObject) -> CleanResult:
        """Return what became of the blob since it was found."""
        found = _find(blob)
        if found is not None and _is_same(found, listed):
            # The blob is as it was: the container to move to is absent.
            raise ConfigError(
                f"{listed.key!r} cannot be moved: {self._target.move_to.partition('/')[0]} does not exist",
                hint="check source.clean_source_move_to",
            )
        return "gone" if found is None else "changed"


def _find(blob: "BlobClient") -> "BlobProperties | None":
    try:
        return blob.get_blob_properties()
    except core.ResourceNotFoundError as error:
        if read_code(error) == "ContainerNotFound":
            raise
        return None


def _is_same(found: "BlobProperties", listed: ListedObject) -> bool:
    return to_listed(found).etag == listed.etag


def build_azure_cleaner(source: "SourceConfig") -> AzureCleaner:
    """Build the cleaner of a container. Raises `ConfigError` if nothing is to be cleaned."""
    if source.type != "azure" or source.clean_source == "off":
        raise ConfigError(
            f"no container to clean: type {source.type!r}, clean_source {source.clean_source!r}"
        )
    target = CleanTarget(source.clean_source, source.clean_source_target)
    return AzureCleaner(build_blob_client(source.account, source.endpoint), source.container, target)

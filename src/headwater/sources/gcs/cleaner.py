"""Moves or deletes objects of a bucket in Google Cloud Storage."""

from typing import TYPE_CHECKING

from google.api_core import exceptions as api

from headwater.errors import ConfigError
from headwater.sources.cleaner import CleanResult, CleanTarget
from headwater.sources.gcs.clients import build_storage_client
from headwater.sources.gcs.google_errors import asking
from headwater.sources.gcs.lister import PATIENT
from headwater.sources.lister import ListedObject
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from google.cloud.storage import Blob, Client

    from headwater.config.source import SourceConfig

_RIGHTS = "grant roles/storage.objectUser on the bucket, and on that of clean_source_move_to"


class GcsCleaner:
    """Names the generation in each request, so that another one is neither moved nor deleted."""

    def __init__(self, client: "Client", bucket: str, target: CleanTarget) -> None:
        self._client = client
        self._bucket = client.bucket(bucket)
        self._target = target

    def clean(self, listed: ListedObject) -> CleanResult:
        """See `SourceCleaner.clean`."""
        subject = Subject(f"{listed.key!r} in bucket {self._bucket.name}", "source", _RIGHTS)
        with asking(subject):
            found = self._bucket.get_blob(listed.key, retry=PATIENT)
            if found is None:
                return "gone"
            if str(found.generation) != listed.version_id:
                return "changed"
            try:
                if self._target.action == "move":
                    self._copy(found)
                # Without `generation`: a versioned bucket archives the object.
                self._bucket.delete_blob(found.name, if_generation_match=found.generation, retry=PATIENT)
            except (api.NotFound, api.PreconditionFailed):
                return self._explain_change(listed)
        return "cleaned"

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _copy(self, found: "Blob") -> None:
        """Copy with metadata. A large object, or one in another location, takes several requests."""
        bucket, _, prefix = self._target.move_to.partition("/")
        copy = self._client.bucket(bucket).blob(prefix + found.name)
        token, _, _ = copy.rewrite(found, if_source_generation_match=found.generation, retry=PATIENT)
        while token is not None:
            token, _, _ = copy.rewrite(
                found, token=token, if_source_generation_match=found.generation, retry=PATIENT
            )

    def _explain_change(self, listed: ListedObject) -> CleanResult:
        """Return what became of the object since it was found."""
        found = self._bucket.get_blob(listed.key, retry=PATIENT)
        if found is not None and str(found.generation) == listed.version_id:
            # The object is as it was: the bucket to move to is absent.
            raise ConfigError(
                f"{listed.key!r} cannot be moved: {self._target.move_to.partition('/')[0]} does not exist",
                hint="check source.clean_source_move_to",
            )
        return "gone" if found is None else "changed"


def build_gcs_cleaner(source: "SourceConfig") -> GcsCleaner:
    """Build the cleaner of a bucket. Raises `ConfigError` if nothing is to be cleaned, `CredentialsError`."""
    if source.type != "gcs" or source.clean_source == "off":
        raise ConfigError(f"no bucket to clean: type {source.type!r}, clean_source {source.clean_source!r}")
    target = CleanTarget(source.clean_source, source.clean_source_target)
    return GcsCleaner(build_storage_client(source.endpoint, source.project), source.bucket, target)

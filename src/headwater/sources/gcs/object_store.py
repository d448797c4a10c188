"""Objects in Google Cloud Storage. One store per process and configuration."""

from collections.abc import Mapping
from contextlib import closing
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import requests
from google.auth import exceptions as auth
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential
from urllib3.exceptions import HTTPError

from headwater.errors import (
    CredentialsError,
    HeadwaterError,
    ObjectForbiddenError,
    ObjectMissingError,
    ObjectSupersededError,
    ObjectTooLargeError,
    ObjectUnavailableError,
)
from headwater.sources.gcs.clients import STORAGE_ENDPOINT, build_session
from headwater.sources.gcs.google_errors import BUSY_STATUSES, GOOGLE_ERRORS, NO_CREDENTIALS_HINT, is_busy
from headwater.sources.object_store import ObjectContent, ObjectRef, ObjectState

if TYPE_CHECKING:
    from google.auth.transport.requests import AuthorizedSession

    from headwater.sources.object_store import ObjectStoreConfig

_FIELDS = "generation,size,timeCreated"
# The stored bytes, not those that the service decompresses.
_RAW = {"Accept-Encoding": "gzip"}
_RIGHTS = (
    "grant roles/storage.objectViewer on the bucket; without storage.objects.list, Cloud Storage also denies "
    "access to missing keys"
)
# No object can have these names, and a URL that ends in one requests something else.
_DOTS = frozenset({".", ".."})


class GcsObjectStore:
    """Reads by generation if one is named, else the current object."""

    def __init__(self, session: "AuthorizedSession", config: "ObjectStoreConfig") -> None:
        self._session = session
        self._base = f"{config.endpoint or STORAGE_ENDPOINT}/storage/v1/b"
        self._timeout = (config.connect_timeout, config.read_timeout)
        self._retry = Retrying(
            retry=retry_if_exception_type(ObjectUnavailableError),
            stop=stop_after_attempt(config.max_attempts),
            wait=wait_random_exponential(multiplier=0.2, max=5),
            reraise=True,
        )

    def read(self, ref: ObjectRef, max_bytes: int | None = None) -> ObjectContent:
        """See `ObjectStore.read`. Retries a truncated body."""
        return self._retry.copy()(self._read_once, ref, max_bytes)

    def state(self, ref: ObjectRef) -> ObjectState | None:
        """See `ObjectStore.state`."""
        return self._retry.copy()(self._find_state, ref)

    def uri(self, ref: ObjectRef) -> str:
        """Return `gs://bucket/key`."""
        return f"gs://{ref.bucket}/{ref.key}"

    def _read_once(self, ref: ObjectRef, max_bytes: int | None) -> ObjectContent:
        generation = {"generation": ref.version_id} if ref.version_id else {}
        with closing(self._get(ref, {"alt": "media", **generation}, _RAW)) as answer:
            if answer.status_code == 404:
                raise self._explain_absence(ref)
            self._check(answer, ref)
            state = read_state(answer.headers)
            if state is None:
                raise self._name_unavailable(ref, "the answer lacks generation or length")
            if max_bytes is not None and state.size > max_bytes:
                raise ObjectTooLargeError(
                    f"{self.uri(ref)} has {state.size} bytes; the limit for one object is {max_bytes}"
                )
            if ref.version_id is None and ref.etag is not None and ref.etag != state.etag:
                raise ObjectSupersededError(f"{self.uri(ref)} no longer has etag {ref.etag}")
            try:
                data = answer.raw.read(decode_content=_is_compressed_on_the_way(answer.headers))
            except (HTTPError, OSError) as error:
                raise self._name_unavailable(ref, str(error)) from error
        if len(data) != state.size:
            raise self._name_unavailable(ref, f"the body was truncated after {len(data)} bytes")
        return ObjectContent(data, state)

    def _find_state(self, ref: ObjectRef) -> ObjectState | None:
        with closing(self._get(ref, {"fields": _FIELDS}, {})) as answer:
            if answer.status_code == 404:
                self._ensure_bucket(ref)
                return None
            self._check(answer, ref)
            found: dict[str, Any] = answer.json()
        created = datetime.fromisoformat(found["timeCreated"].replace("Z", "+00:00"))
        return ObjectState(found["generation"], found["generation"], int(found["size"]), created)

    def _explain_absence(self, ref: ObjectRef) -> HeadwaterError:
        """Return why there is no such generation: the key has another one, or is absent."""
        present = self._find_state(ref)
        if present is not None and ref.version_id is not None:
            return ObjectSupersededError(
                f"{self.uri(ref)} has generation {present.version_id}, no longer {ref.version_id}"
            )
        return ObjectMissingError(f"{self.uri(ref)} does not exist")

    def _ensure_bucket(self, ref: ObjectRef) -> None:
        """Raise `ObjectForbiddenError` if the bucket is absent: that must not count as a removal."""
        request = {"prefix": ref.key, "maxResults": 1, "fields": "kind"}
        with closing(self._send(f"{self._base}/{quote(ref.bucket, safe='')}/o", request, {}, ref)) as answer:
            if answer.status_code == 404:
                raise ObjectForbiddenError(
                    f"{self.uri(ref)} cannot be read: there is no bucket {ref.bucket}",
                    hint="check `source.bucket` and `source.endpoint`",
                )

    def _get(
        self, ref: ObjectRef, parameters: Mapping[str, Any], headers: Mapping[str, str]
    ) -> requests.Response:
        if ref.key in _DOTS:
            raise ObjectMissingError(f"{self.uri(ref)} does not exist: no object can have this name")
        try:
            url = f"{self._base}/{quote(ref.bucket, safe='')}/o/{quote(ref.key, safe='')}"
        except UnicodeEncodeError as error:
            raise ObjectForbiddenError(
                f"{ref.key!r} cannot be requested: {error}", hint="no object can have this name"
            ) from error
        return self._send(url, parameters, headers, ref)

    def _send(
        self, url: str, parameters: Mapping[str, Any], headers: Mapping[str, str], ref: ObjectRef
    ) -> requests.Response:
        try:
            return self._session.get(
                url, params=dict(parameters), headers=dict(headers), timeout=self._timeout, stream=True
            )
        except GOOGLE_ERRORS as error:
            if isinstance(error, auth.GoogleAuthError) and not is_busy(error):
                raise CredentialsError(
                    f"no usable credentials to read {self.uri(ref)}: {error}", hint=NO_CREDENTIALS_HINT
                ) from error
            raise self._name_unavailable(ref, str(error)) from error

    def _check(self, answer: requests.Response, ref: ObjectRef) -> None:
        status = answer.status_code
        if status == 200:
            return
        where = self.uri(ref)
        if status == 401:
            raise CredentialsError(f"{where} cannot be read: {status}", hint=NO_CREDENTIALS_HINT)
        if status in BUSY_STATUSES:
            raise self._name_unavailable(ref, str(status))
        if status == 400:
            raise ObjectMissingError(f"{where} does not exist ({status})")
        raise ObjectForbiddenError(f"{where} cannot be read: {status}", hint=_RIGHTS)

    def _name_unavailable(self, ref: ObjectRef, reason: str) -> ObjectUnavailableError:
        return ObjectUnavailableError(
            f"{self.uri(ref)} could not be read: {reason}", hint="it will be retried"
        )


def _is_compressed_on_the_way(headers: Mapping[str, str]) -> bool:
    """True if the bytes are not those that are stored, although the request asks for these."""
    stored = headers.get("x-goog-stored-content-encoding", "identity")
    return headers.get("content-encoding") == "gzip" != stored


def read_state(headers: Mapping[str, str]) -> ObjectState | None:
    """Return the state that the headers of an object describe; None if they do not.

    Its etag is the generation: Cloud Storage's own etags change with the metadata, too, and differ between
    its APIs.
    """
    generation = headers.get("x-goog-generation")
    size = headers.get("x-goog-stored-content-length") or headers.get("content-length")
    if generation is None or size is None:
        return None
    # Generations are the microseconds of their creation.
    created = (
        parsedate_to_datetime(headers["last-modified"])
        if "last-modified" in headers
        else datetime.fromtimestamp(int(generation) / 1e6, timezone.utc)
    )
    return ObjectState(generation, generation, int(size), created)


def build_gcs_store(config: "ObjectStoreConfig") -> GcsObjectStore:
    """Build a store with the default credentials of its process. Raises `CredentialsError`."""
    return GcsObjectStore(build_session(config.endpoint, config.max_connections), config)

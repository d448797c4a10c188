"""The object store seam: read exactly one state of one object, or say precisely why not."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """Which state of which object. `key` is decoded; `size` is in bytes; etags carry no quotes.

    `version_id` names a version where the store has versions; `etag` names the content. Both None
    means: whatever lies there.
    """

    provider: str
    bucket: str
    key: str
    version_id: str | None = None
    etag: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class ObjectState:
    """What lies, or lay, under a key. `last_modified` is aware, UTC; `size` is in bytes."""

    etag: str | None
    version_id: str | None
    size: int
    last_modified: datetime


@dataclass(frozen=True, slots=True)
class ObjectContent:
    """The bytes of one state of an object."""

    data: bytes
    state: ObjectState


class ObjectStore(Protocol):
    """Reads objects. All methods may be called from many threads and retry by themselves.

    An `ObjectError` is about the one object; any other `HeadwaterError` (`CredentialsError` first of
    all) is about the whole source, and the next object will meet it too.
    """

    def read(self, ref: ObjectRef, max_bytes: int | None = None) -> ObjectContent:
        """Read exactly the named state: the version where one is named, else the content of that etag.

        Raises ObjectMissingError (no such key or version), ObjectSupersededError (the key holds
        another content), ObjectForbiddenError (denied, archived, or a key that no object can have),
        ObjectTooLargeError (more than `max_bytes`, without reading them), ObjectUnavailableError
        (no answer after all retries) and CredentialsError.
        """
        ...

    def state(self, ref: ObjectRef) -> ObjectState | None:
        """What lies under the key now, whatever version or etag `ref` names; None when nothing does."""
        ...

    def uri(self, ref: ObjectRef) -> str:
        """The object's address as Spark shows it, for instance `s3a://bucket/key`."""
        ...

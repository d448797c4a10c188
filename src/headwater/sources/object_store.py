"""The object store seam: read exactly one state of one object, or report precisely why not."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from headwater.errors import ObjectForbiddenError

StoreKind = Literal["s3", "gcs", "azure", "kafka", "local", "memory", "routed"]


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """A reference to one state of one object. `key` is decoded; `size` is in bytes; etags carry no quotes.

    `version_id` names a version if the store has versions; `etag` names the content. Both None means the
    current object.
    """

    provider: str
    bucket: str
    key: str
    version_id: str | None = None
    etag: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class ObjectState:
    """The current or a previous state of an object. `last_modified` is aware, UTC; `size` is in bytes."""

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
    """Reads objects. All methods are thread-safe and retry on their own.

    An `ObjectError` concerns the one object. Any other `HeadwaterError`, above all `CredentialsError`,
    concerns the whole source, so the next object would raise it, too.
    """

    def read(self, ref: ObjectRef, max_bytes: int | None = None) -> ObjectContent:
        """Read exactly the named state: the version if one is named, else the content of that etag.

        Raises:
            ObjectMissingError: no such key or version.
            ObjectExpiredError: the source removed the content before it was read.
            ObjectSupersededError: the key holds another content.
            ObjectForbiddenError: denied, archived, or a key that no object can have.
            ObjectTooLargeError: more than `max_bytes`, without reading them.
            ObjectUnavailableError: no response after all retries.
            CredentialsError: credentials are missing or invalid.
        """
        ...

    def state(self, ref: ObjectRef) -> ObjectState | None:
        """Return the key's current state, whatever version or etag `ref` names; None without an object."""
        ...

    def uri(self, ref: ObjectRef) -> str:
        """Return the object's address in Spark's form, for example `s3a://bucket/key`."""
        ...


@dataclass(frozen=True, slots=True)
class ObjectStoreConfig:
    """How to access objects. Times are in seconds. Holds no secrets.

    `path_style` None means: with an endpoint, yes. `scheme` is the one in `uri()`; `spark_reads` False means
    that Spark has no file system for it, so that large objects are read whole. `spark_host` follows the
    bucket in its address for Spark, such as `@acmelake.dfs.core.windows.net`. `name` is a storage account,
    or identifies a memory store; `client` are settings of the store's client. Objects whose bucket is
    `known_as` in the lake are at `location` now.
    `profile`, `role` and `external_id` say whose credentials a process uses, if not those that it finds.
    `routes` are those of a `routed` store: the store of each bucket, by its name in the lake.
    """

    kind: StoreKind
    region: str | None = None
    endpoint: str | None = None
    path_style: bool | None = None
    scheme: str = "s3a"
    spark_reads: bool = True
    spark_host: str = ""
    name: str = "default"
    known_as: str = ""
    location: str = ""
    client: tuple[tuple[str, str], ...] = ()
    max_connections: int = 16
    max_attempts: int = 5
    connect_timeout: float = 5.0
    read_timeout: float = 60.0
    profile: str = ""
    role: str = ""
    external_id: str = ""
    routes: tuple[tuple[str, "ObjectStoreConfig"], ...] = ()

    @property
    def reads_ahead(self) -> bool:
        """True if an object is read sooner by the task that has read the one before it."""
        return self.kind == "kafka" or any(route.reads_ahead for _, route in self.routes)

    def choose(self, bucket: str) -> "ObjectStoreConfig":
        """Return the store of a bucket. Raises `ObjectForbiddenError` for one of no source."""
        if self.kind != "routed":
            return self
        for name, config in self.routes:
            if name == bucket:
                return config
        raise ObjectForbiddenError(
            f"{bucket} is the bucket or folder of no source of the table",
            hint="add it to `source`; if its objects have moved, set `moved_from` of their source",
        )

    def locate(self, bucket: str) -> str:
        """Return the current location of a bucket's objects."""
        chosen = self.choose(bucket)
        return chosen.location if chosen.known_as and bucket == chosen.known_as else bucket

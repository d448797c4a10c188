"""Object stores by provider. An executor opens one with `build_object_store` from its `ObjectStoreConfig`."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, cast

from headwater.ingest.object_stores.protocol import ObjectContent, ObjectRef, ObjectState, ObjectStore
from headwater.ingest.object_stores.relocated import RelocatedStore

__all__ = [
    "ObjectContent",
    "ObjectRef",
    "ObjectState",
    "ObjectStore",
    "ObjectStoreConfig",
    "StoreKind",
    "build_object_store",
]

StoreKind = Literal["s3", "local", "memory"]

# Imported on demand: a folder source needs no AWS SDK.
_BUILDERS: dict[StoreKind, tuple[str, str]] = {
    "s3": ("headwater.ingest.object_stores.s3", "build_s3_store"),
    "local": ("headwater.ingest.object_stores.local", "build_local_store"),
    "memory": ("headwater.ingest.object_stores.memory", "build_memory_store"),
}


@dataclass(frozen=True, slots=True)
class ObjectStoreConfig:
    """How to access objects; holds no secrets. Times are in seconds.

    `path_style` None means: with an endpoint, yes. `scheme` is the one in `uri()`. `name` identifies a memory
    store. Objects whose bucket is `known_as` in the lake are at `location` now.
    """

    kind: StoreKind
    region: str | None = None
    endpoint: str | None = None
    path_style: bool | None = None
    scheme: str = "s3a"
    name: str = "default"
    known_as: str = ""
    location: str = ""
    max_connections: int = 16
    max_attempts: int = 5
    connect_timeout: float = 5.0
    read_timeout: float = 60.0

    def locate(self, bucket: str) -> str:
        """Returns the current location of a bucket's objects."""
        return self.location if self.known_as and bucket == self.known_as else bucket


@lru_cache(maxsize=32)
def build_object_store(config: ObjectStoreConfig) -> ObjectStore:
    """Returns the store of `config`; one per process, so that connections are shared and kept."""
    module_name, function_name = _BUILDERS[config.kind]
    build = cast(
        Callable[[ObjectStoreConfig], ObjectStore],
        getattr(importlib.import_module(module_name), function_name),
    )
    store = build(config)
    return RelocatedStore(store, config.known_as, config.location) if config.known_as else store

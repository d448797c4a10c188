"""Objects of several sources: each bucket has a store of its own."""

from collections.abc import Callable

from headwater.sources.object_store import (
    ObjectContent,
    ObjectRef,
    ObjectState,
    ObjectStore,
    ObjectStoreConfig,
)


class RoutedStore:
    """Reads a ref from the store of its bucket, which is built on first use."""

    def __init__(
        self, config: ObjectStoreConfig, build_store: Callable[[ObjectStoreConfig], ObjectStore]
    ) -> None:
        self._config = config
        self._build_store = build_store

    def read(self, ref: ObjectRef, max_bytes: int | None = None) -> ObjectContent:
        """See `ObjectStore.read`."""
        return self._find(ref).read(ref, max_bytes)

    def state(self, ref: ObjectRef) -> ObjectState | None:
        """See `ObjectStore.state`."""
        return self._find(ref).state(ref)

    def uri(self, ref: ObjectRef) -> str:
        """See `ObjectStore.uri`."""
        return self._find(ref).uri(ref)

    def _find(self, ref: ObjectRef) -> ObjectStore:
        return self._build_store(self._config.choose(ref.bucket))

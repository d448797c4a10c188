"""Implementations of each seam by source type. A new vendor is one folder here, and its lines below.

Modules are imported when they are chosen: a folder source needs no AWS SDK.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from headwater.errors import PlatformError, UsageError
from headwater.sources.cleaner import SourceCleaner
from headwater.sources.object_store import ObjectStore, ObjectStoreConfig, StoreKind
from headwater.sources.provisioner import BuildProvisioner, Provisioner, ProvisioningScope, Role
from headwater.sources.queue import Queue
from headwater.sources.relocated_store import RelocatedStore
from headwater.sources.routed_store import RoutedStore
from headwater.sources.source import Source

if TYPE_CHECKING:
    from headwater.config.source import SourceConfig
    from headwater.sources.notifications.outcome import MessageParser

# Module and function or class of each builder. The queue of a folder or of topics is filled in this process.
_QUEUES: Mapping[str, tuple[str, str]] = {
    "azure": ("headwater.sources.azure.queue", "build_azure_queue"),
    "kafka": ("headwater.sources.memory.queue", "build_memory_queue"),
    "local": ("headwater.sources.memory.queue", "build_memory_queue"),
    "gcs": ("headwater.sources.gcs.queue", "build_pubsub_queue"),
    "s3": ("headwater.sources.s3.queue", "build_sqs_queue"),
}
_SOURCES: Mapping[str, tuple[str, str]] = {
    "azure": ("headwater.sources.azure.source", "AzureSource"),
    "kafka": ("headwater.sources.kafka.source", "KafkaSource"),
    "local": ("headwater.sources.local.source", "LocalSource"),
    "gcs": ("headwater.sources.gcs.source", "GcsSource"),
    "s3": ("headwater.sources.s3.source", "S3Source"),
}
_OBJECT_STORES: Mapping[StoreKind, tuple[str, str]] = {
    "azure": ("headwater.sources.azure.object_store", "build_azure_store"),
    "kafka": ("headwater.sources.kafka.object_store", "build_kafka_store"),
    "local": ("headwater.sources.local.object_store", "build_local_store"),
    "memory": ("headwater.sources.memory.object_store", "build_memory_store"),
    "gcs": ("headwater.sources.gcs.object_store", "build_gcs_store"),
    "s3": ("headwater.sources.s3.object_store", "build_s3_store"),
}
_CLEANERS: Mapping[str, tuple[str, str]] = {
    "azure": ("headwater.sources.azure.cleaner", "build_azure_cleaner"),
    "local": ("headwater.sources.local.cleaner", "build_local_cleaner"),
    "gcs": ("headwater.sources.gcs.cleaner", "build_gcs_cleaner"),
    "s3": ("headwater.sources.s3.cleaner", "build_s3_cleaner"),
}
_PROVISIONERS: Mapping[str, tuple[str, str]] = {
    "gcs": ("headwater.sources.gcs.provisioning.provisioner", "build_google_provisioner"),
    "local": ("headwater.sources.local.provisioner", "build_local_provisioner"),
    "s3": ("headwater.sources.s3.provisioning.provisioner", "build_aws_provisioner"),
}
_POLICIES: Mapping[str, tuple[str, str]] = {
    "gcs": ("headwater.sources.gcs.provisioning.provisioner", "build_source_policies"),
    "s3": ("headwater.sources.s3.provisioning.provisioner", "build_source_policies"),
}
# Only for setting up: executors, which build object stores, need no parsers.
_PARSER = ("headwater.sources.message_parser", "parse_message")
# What to install if the library of a type's vendor cannot be imported.
_INSTALL: Mapping[str, str] = {
    "azure": "pip install 'headwater[azure]'",
    "gcs": "pip install 'headwater[gcs]'",
    "kafka": "pip install 'headwater[kafka]'",
    "local": "pip install headwater",
    "s3": "pip install boto3",
}


def build_source(source: "SourceConfig") -> Source:
    """Build the source that the configuration describes. Opens no connection."""
    return cast("Callable[[SourceConfig], Source]", _load(_SOURCES[source.type]))(source)


def build_queue(source: "SourceConfig") -> Queue:
    """Build the queue of a source's notifications.

    Raises `PlatformError` if the vendor's library is missing, `ConfigError` if the source's configuration is
    incomplete, and `UsageError` for a type without a queue.
    """
    entry = _QUEUES.get(source.type)
    if entry is None:
        hint = f"types with a queue: {', '.join(_QUEUES)}"
        raise UsageError(f"no queue for sources of type {source.type!r}", hint=hint)
    try:
        build = cast("Callable[[SourceConfig], Queue]", _load(entry))
    except ImportError as error:
        raise PlatformError(
            f"sources of type {source.type!r} require a library that is not installed: {error}",
            hint=_INSTALL[source.type],
        ) from error
    return build(source)


@lru_cache(maxsize=32)
def build_object_store(config: ObjectStoreConfig) -> ObjectStore:
    """Return the store of `config`; one per process, so that connections are shared and kept.

    Executors call it with the configuration that the driver has sent.
    """
    if config.kind == "routed":
        return RoutedStore(config, build_object_store)
    build = cast(Callable[[ObjectStoreConfig], ObjectStore], _load(_OBJECT_STORES[config.kind]))
    store = build(config)
    return RelocatedStore(store, config.known_as, config.location) if config.known_as else store


def build_cleaner(source: "SourceConfig") -> SourceCleaner:
    """Build the cleaner for `clean_source`, which must not be `off`. Raises `SourceError`."""
    build = cast("Callable[[SourceConfig], SourceCleaner]", _load(_CLEANERS[source.type]))
    return build(source)


def has_provisioner(source: "SourceConfig") -> bool:
    """True if headwater creates resources for sources of this type."""
    return source.type in _PROVISIONERS


def build_provisioner(
    source: "SourceConfig", lake: str, scope: ProvisioningScope | None = None
) -> Provisioner:
    """Build the provisioner of a source.

    Raises `UsageError` for a type that has none, `ConfigError` if no region or project is found.
    """
    entry = _PROVISIONERS.get(source.type)
    if entry is None:
        hint = (
            "create them with the vendor's tools, and check them with `headwater doctor`; types for which "
            f"headwater creates resources: {', '.join(_PROVISIONERS)}"
        )
        raise UsageError(f"headwater creates no resources for sources of type {source.type!r}", hint=hint)
    build = cast(BuildProvisioner, _load(entry))
    parse = cast("MessageParser", _load(_PARSER))
    return build(source, lake, scope or ProvisioningScope(), parse)


def build_policies(source: "SourceConfig", lake: str) -> Mapping[Role, Mapping[str, object]]:
    """Return the permissions that a source and its lake need, by role, in the vendor's form.

    Raises `UsageError` for a type that needs none.
    """
    entry = _POLICIES.get(source.type)
    if entry is None:
        raise UsageError(
            f"headwater prints no permissions for sources of type {source.type!r}",
            hint=f"only sources of type {' and '.join(_POLICIES)} have them",
        )
    build = cast("Callable[[SourceConfig, str], Mapping[Role, Mapping[str, object]]]", _load(entry))
    return build(source, lake)


def _load(entry: tuple[str, str]) -> Any:
    module, function = entry
    return getattr(import_module(module), function)

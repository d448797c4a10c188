"""Least privilege for set-up, ingestion and serving: permissions of custom roles, by resource. Pure."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from headwater.config.source import GcsSourceConfig
from headwater.sources.gcs.resource_names import Addresses, project_of
from headwater.sources.provisioner import Role

Permissions = Mapping[str, Sequence[str]]

_SET_UP = (
    "pubsub.subscriptions.consume",  # the test with an object
    "pubsub.subscriptions.create",
    "pubsub.subscriptions.delete",
    "pubsub.subscriptions.get",
    "pubsub.subscriptions.getIamPolicy",
    "pubsub.subscriptions.list",
    "pubsub.subscriptions.setIamPolicy",
    "pubsub.subscriptions.update",
    "pubsub.topics.attachSubscription",
    "pubsub.topics.create",
    "pubsub.topics.delete",
    "pubsub.topics.get",
    "pubsub.topics.getIamPolicy",
    "pubsub.topics.list",
    "pubsub.topics.setIamPolicy",
    "pubsub.topics.update",
    "resourcemanager.projects.get",
)
_BUCKET_SET_UP = (
    "storage.buckets.get",
    "storage.buckets.update",
    "storage.objects.create",
    "storage.objects.delete",
)
_LISTING = ("storage.buckets.get", "storage.objects.get", "storage.objects.list")
_RECEIVING = ("pubsub.subscriptions.consume", "pubsub.subscriptions.get")
_WRITING = ("storage.objects.create", "storage.objects.delete")


def build_role_permissions(
    source: GcsSourceConfig, lake: str, addresses: Addresses
) -> dict[Role, Permissions]:
    """Return the permissions by role and full resource name. A lake outside Google needs none there."""
    return {
        "set-up": {
            f"//cloudresourcemanager.googleapis.com/projects/{project_of(addresses.topic)}": _SET_UP,
            _name_bucket(source.bucket): _BUCKET_SET_UP,
        },
        "ingest": _merge(
            {f"//pubsub.googleapis.com/{addresses.subscription}": _RECEIVING},
            {_name_bucket(source.bucket): _LISTING},
            _list_cleaning(source),
            _list_lake(lake, (*_LISTING, *_WRITING)),
        ),
        "serve": _list_lake(lake, _LISTING),
    }


def _list_cleaning(source: GcsSourceConfig) -> Permissions:
    """Return the permissions that `clean_source` needs beyond reading."""
    if source.clean_source == "off":
        return {}
    target = source.clean_source_target.partition("/")[0]
    # An object that exists at the target is overwritten, which is a deletion, too.
    moving = {_name_bucket(target): _WRITING} if target else {}
    return _merge({_name_bucket(source.bucket): ("storage.objects.delete",)}, moving)


def _list_lake(lake: str, permissions: Sequence[str]) -> Permissions:
    parts = urlsplit(lake)
    return {_name_bucket(parts.netloc): permissions} if parts.scheme in ("gs", "gcs") else {}


def _name_bucket(bucket: str) -> str:
    return f"//storage.googleapis.com/projects/_/buckets/{bucket}"


def _merge(*parts: Permissions) -> Permissions:
    """Merge permissions: bucket, target and lake may be one bucket."""
    merged: dict[str, set[str]] = {}
    for part in parts:
        for resource, permissions in part.items():
            merged.setdefault(resource, set()).update(permissions)
    return {resource: sorted(permissions) for resource, permissions in merged.items()}

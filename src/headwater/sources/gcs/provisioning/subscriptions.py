"""Provisions subscriptions: reads, creates, changes and deletes them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from google.api_core import exceptions as api

from headwater.sources.gcs.google_errors import needing
from headwater.sources.gcs.judging import NEVER
from headwater.sources.gcs.observing import observe_subscription
from headwater.sources.gcs.provisioning.grants import Grants
from headwater.sources.gcs.provisioning.requests import PATIENT, TIMEOUT, ensure_own, name_resource
from headwater.sources.planning.actions import Observed
from headwater.sources.planning.ownership import Owner
from headwater.sources.provisioner import ResourceAction, ResourceKind

if TYPE_CHECKING:
    from google.pubsub_v1 import SubscriberClient


class SubscriptionResources:
    """Subscription and dead-letter subscription, with the rights to receive from them."""

    def __init__(self, client: "SubscriberClient", owner: Owner) -> None:
        self._client = client
        self._owner = owner

    def read(self, kind: ResourceKind, name: str) -> Observed | None:
        """Return the subscription without its grants; None if there is none."""
        with needing("pubsub.subscriptions.get", name_resource(name)):
            try:
                found = self._client.get_subscription(subscription=name, retry=PATIENT, timeout=TIMEOUT)
            except api.NotFound:
                return None
        return observe_subscription(kind, found)

    def read_grants(self, name: str) -> dict[str, str]:
        """Return the members of each role on the subscription."""
        return self._open_grants(name).read()

    def list_owned(self, project: str) -> list[str]:
        """Return the names of all subscriptions with our label."""
        with needing("pubsub.subscriptions.list", name_resource(f"project {project}")):
            found = self._client.list_subscriptions(
                project=f"projects/{project}", retry=PATIENT, timeout=TIMEOUT
            )
            return [item.name for item in found if self._owner.is_orphan_candidate(item.labels)]

    def create(self, action: ResourceAction) -> None:
        """Create it with all its settings and labels, so that it is ours from the start; then grant roles.

        A subscription of ours that exists, as after a lost response, only gets its grants.
        """
        attributes, labels = action.list_written()
        request = {
            "name": action.address,
            "topic": attributes["topic"],
            "labels": labels,
            **_build_settings(attributes, {}),
        }
        with needing(
            "pubsub.subscriptions.create or pubsub.topics.attachSubscription", name_resource(action.address)
        ):
            try:
                self._client.create_subscription(request=request, retry=PATIENT, timeout=TIMEOUT)
            except api.AlreadyExists:
                ensure_own(self.read(action.kind, action.address), self._owner)
        self._open_grants(action.address).add(action)

    def update(self, action: ResourceAction) -> None:
        """Write differences."""
        attributes, labels = action.list_written()
        with needing("pubsub.subscriptions.update", name_resource(action.address)):
            found = self._client.get_subscription(subscription=action.address, retry=PATIENT, timeout=TIMEOUT)
            present = observe_subscription(action.kind, found)
            settings = _build_settings(attributes, present.attributes)
            if labels:
                settings["labels"] = {**present.tags, **labels}
            if settings:
                request = {
                    "subscription": {"name": action.address, **settings},
                    "update_mask": {"paths": list(settings)},
                }
                self._client.update_subscription(request=request, retry=PATIENT, timeout=TIMEOUT)
        self._open_grants(action.address).add(action)

    def delete(self, action: ResourceAction) -> None:
        """Delete it with all its messages; do nothing if it was deleted in the meantime."""
        with needing("pubsub.subscriptions.delete", name_resource(action.address)):
            try:
                self._client.delete_subscription(subscription=action.address, retry=PATIENT, timeout=TIMEOUT)
            except api.NotFound:
                return

    def _open_grants(self, name: str) -> Grants:
        return Grants(self._client, name)


def _build_settings(attributes: Mapping[str, str], present: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a subscription to write; `present` completes a field of two attributes."""
    settings: dict[str, Any] = {}
    if "ack_deadline" in attributes:
        settings["ack_deadline_seconds"] = int(attributes["ack_deadline"])
    if "message_retention_duration" in attributes:
        seconds = int(attributes["message_retention_duration"])
        settings["message_retention_duration"] = {"seconds": seconds}
    if attributes.get("expiration") == NEVER:
        settings["expiration_policy"] = {}
    if "push_endpoint" in attributes:
        settings["push_config"] = {}
    if attributes.keys() & {"dead_letter_topic", "max_delivery_attempts"}:
        merged = {**present, **attributes}
        settings["dead_letter_policy"] = {
            "dead_letter_topic": merged["dead_letter_topic"],
            "max_delivery_attempts": int(merged["max_delivery_attempts"]),
        }
    return settings

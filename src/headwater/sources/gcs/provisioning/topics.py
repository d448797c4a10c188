"""Provisions topics: reads, creates, changes and deletes them."""

from typing import TYPE_CHECKING

from google.api_core import exceptions as api

from headwater.sources.gcs.google_errors import needing
from headwater.sources.gcs.observing import observe_topic
from headwater.sources.gcs.provisioning.grants import Grants
from headwater.sources.gcs.provisioning.requests import PATIENT, TIMEOUT, ensure_own, name_resource
from headwater.sources.planning.actions import Observed
from headwater.sources.planning.ownership import Owner
from headwater.sources.provisioner import ResourceAction, ResourceKind

if TYPE_CHECKING:
    from google.pubsub_v1 import PublisherClient


class TopicResources:
    """Topic and dead-letter topic, with the rights to publish to them."""

    def __init__(self, client: "PublisherClient", owner: Owner) -> None:
        self._client = client
        self._owner = owner

    def read(self, kind: ResourceKind, name: str) -> Observed | None:
        """Return the topic without its grants; None if there is none."""
        with needing("pubsub.topics.get", name_resource(name)):
            try:
                found = self._client.get_topic(topic=name, retry=PATIENT, timeout=TIMEOUT)
            except api.NotFound:
                return None
        return observe_topic(kind, found)

    def read_grants(self, name: str) -> dict[str, str]:
        """Return the members of each role on the topic."""
        return self._open_grants(name).read()

    def list_owned(self, project: str) -> list[str]:
        """Return the names of all topics with our label."""
        with needing("pubsub.topics.list", name_resource(f"project {project}")):
            found = self._client.list_topics(project=f"projects/{project}", retry=PATIENT, timeout=TIMEOUT)
            return [topic.name for topic in found if self._owner.is_orphan_candidate(topic.labels)]

    def create(self, action: ResourceAction) -> None:
        """Create it with its labels, so that it is ours from the start; then grant roles.

        A topic of ours that exists, as after a lost response, only gets its grants.
        """
        _, labels = action.list_written()
        request = {"name": action.address, "labels": labels}
        with needing("pubsub.topics.create", name_resource(action.address)):
            try:
                self._client.create_topic(request=request, retry=PATIENT, timeout=TIMEOUT)
            except api.AlreadyExists:
                ensure_own(self.read(action.kind, action.address), self._owner)
        self._open_grants(action.address).add(action)

    def update(self, action: ResourceAction) -> None:
        """Write differences."""
        _, labels = action.list_written()
        if labels:
            with needing("pubsub.topics.update", name_resource(action.address)):
                topic = self._client.get_topic(topic=action.address, retry=PATIENT, timeout=TIMEOUT)
                topic.labels.update(labels)
                request = {"topic": topic, "update_mask": {"paths": ["labels"]}}
                self._client.update_topic(request=request, retry=PATIENT, timeout=TIMEOUT)
        self._open_grants(action.address).add(action)

    def delete(self, action: ResourceAction) -> None:
        """Delete it; do nothing if it was deleted in the meantime."""
        with needing("pubsub.topics.delete", name_resource(action.address)):
            try:
                self._client.delete_topic(topic=action.address, retry=PATIENT, timeout=TIMEOUT)
            except api.NotFound:
                return

    def _open_grants(self, name: str) -> Grants:
        return Grants(self._client, name)

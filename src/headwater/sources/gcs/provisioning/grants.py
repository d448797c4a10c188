"""Roles granted on a topic or subscription, concurrently with other writers."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from google.api_core import exceptions as api
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random

from headwater.errors import SourceError
from headwater.sources.gcs.google_errors import describe, is_busy, needing
from headwater.sources.gcs.provisioning.requests import PATIENT, TIMEOUT, name_resource
from headwater.sources.gcs.resource_names import project_of
from headwater.sources.provisioner import ResourceAction

if TYPE_CHECKING:
    from google.iam.v1.policy_pb2 import Policy
    from google.pubsub_v1 import PublisherClient, SubscriberClient

_ROLE_START = "roles/"
_TRIES = 5
# The first version with conditions. Reading an older one and writing it again would remove conditions.
_POLICY_VERSION = 3


class Grants:
    """The members of each role on one resource."""

    def __init__(self, client: "PublisherClient | SubscriberClient", resource: str) -> None:
        self._client = client
        self._resource = resource
        # `pubsub.topics` or `pubsub.subscriptions`
        self._right_start = f"pubsub.{resource.split('/')[2]}"

    def read(self) -> dict[str, str]:
        """Return the members by role, as sorted texts; conditional grants are not counted."""
        found: dict[str, set[str]] = {}
        for binding in self._read_policy().bindings:
            if not binding.HasField("condition"):
                found.setdefault(binding.role, set()).update(binding.members)
        return {role: ", ".join(sorted(members)) for role, members in found.items()}

    def add(self, action: ResourceAction) -> None:
        """Grant the roles that the action adds; keeps all other grants."""
        added = _list_added(action)
        if not added:
            return
        # The etag of the policy rejects a write after another one, which is then repeated.
        attempts = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, Exception) and is_busy(error)),
            stop=stop_after_attempt(_TRIES),
            wait=wait_random(0.1, 1),
            reraise=True,
        )
        with needing(f"{self._right_start}.setIamPolicy", name_resource(self._resource)):
            try:
                attempts(self._add, added)
            except api.InvalidArgument as error:
                project = project_of(self._resource)
                raise SourceError(
                    f"{self._resource}: a role cannot be granted: {describe(error)}",
                    hint="if a service agent does not exist: `gcloud beta services identity create "
                    f"--service=pubsub.googleapis.com --project={project}`",
                ) from error

    def _add(self, added: Mapping[str, Iterable[str]]) -> None:
        policy = self._read_policy()
        for role, members in added.items():
            plain = (item for item in policy.bindings if item.role == role and not item.HasField("condition"))
            binding = next(plain, None) or policy.bindings.add(role=role)
            binding.members.extend(member for member in members if member not in binding.members)
        policy.version = _POLICY_VERSION
        self._client.set_iam_policy(request={"resource": self._resource, "policy": policy}, timeout=TIMEOUT)

    def _read_policy(self) -> "Policy":
        options = {"requested_policy_version": _POLICY_VERSION}
        request = {"resource": self._resource, "options": options}
        with needing(f"{self._right_start}.getIamPolicy", name_resource(self._resource)):
            return self._client.get_iam_policy(request=request, retry=PATIENT, timeout=TIMEOUT)


def _list_added(action: ResourceAction) -> dict[str, list[str]]:
    """Return the members that the action adds, by role."""
    found = {
        change.name: sorted({*change.after.split(", ")} - {*change.before.split(", ")})
        for change in action.attributes
        if change.name.startswith(_ROLE_START)
    }
    return {role: members for role, members in found.items() if members}

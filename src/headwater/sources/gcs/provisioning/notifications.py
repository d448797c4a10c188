"""Creates and deletes notification configurations of a bucket."""

from typing import TYPE_CHECKING

from google.api_core import exceptions as api
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from headwater.errors import BucketNotFoundError, CredentialsError, ResourceConflictError
from headwater.sources.gcs.google_errors import describe, needing
from headwater.sources.gcs.judging import NotificationRule
from headwater.sources.gcs.observing import observe_rule
from headwater.sources.gcs.planning.desired import PUBLISHER
from headwater.sources.gcs.planning.source_plan import MergeInto
from headwater.sources.gcs.provisioning.requests import PATIENT, TIMEOUT
from headwater.sources.gcs.resource_names import last_part, project_of
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from google.cloud.storage import Bucket

_PUBLISH_DENIED = "does not have permission to publish"
_PAUSE_SECONDS = 2.0


class BucketNotifications:
    """The notification configurations of one bucket. Those of other owners are never changed."""

    def __init__(self, bucket: "Bucket") -> None:
        self._bucket = bucket
        self._subject = Subject(f"bucket {bucket.name}", "source.bucket", "")

    def read(self) -> list[NotificationRule]:
        """Return all configurations. Raises `BucketNotFoundError`."""
        with needing("storage.buckets.get", self._subject, BucketNotFoundError):
            found = self._bucket.list_notifications(retry=PATIENT, timeout=TIMEOUT)
            return [observe_rule(item) for item in found]

    def write(self, merge_into: MergeInto, *, grant_patience: float = 0) -> None:
        """Merge into the current configurations; create the new one before an old one is deleted.

        Both may send an event in between, which is stored once. `grant_patience` is how many seconds to wait
        until a right to publish that was just granted takes effect. Raises `ResourceConflictError` for
        problems of the merge.
        """
        merge = merge_into(self.read())
        if merge.problems:
            raise ResourceConflictError(merge.problems[0].detail, hint=merge.problems[0].fix)
        if merge.create:
            self._create(merge.create, grant_patience)
        for rule in merge.delete:
            self._delete(rule)

    def _create(self, rule: NotificationRule, grant_patience: float) -> None:
        attempts = Retrying(
            retry=retry_if_exception(_is_publish_denied),
            stop=stop_after_delay(grant_patience),
            wait=wait_fixed(_PAUSE_SECONDS),
            reraise=True,
        )
        notification = self._bucket.notification(
            topic_name=last_part(rule.topic),
            topic_project=project_of(rule.topic),
            custom_attributes=dict(rule.attributes),
            event_types=sorted(rule.events),
            blob_name_prefix=rule.prefix or None,
            payload_format=rule.payload_format,
        )
        with needing("storage.buckets.update", self._subject, BucketNotFoundError):
            try:
                # After a lost response there may be two equal ones, of which the next `up` deletes one.
                attempts(notification.create, retry=PATIENT, timeout=TIMEOUT)
            except api.Forbidden as error:
                if not _is_publish_denied(error):
                    raise
                raise CredentialsError(
                    f"{self._subject.name} may not send notifications: {describe(error)}",
                    hint=f"grant {PUBLISHER} on {rule.topic} to this service account",
                ) from error

    def _delete(self, rule: NotificationRule) -> None:
        with needing("storage.buckets.update", self._subject):
            try:
                notification = self._bucket.notification(
                    topic_name=last_part(rule.topic), notification_id=rule.id
                )
                notification.delete(retry=PATIENT, timeout=TIMEOUT)
            except api.NotFound:
                return


def _is_publish_denied(error: BaseException) -> bool:
    """True if the bucket's service agent may not publish, whatever the caller may do."""
    return isinstance(error, api.Forbidden) and _PUBLISH_DENIED in describe(error)

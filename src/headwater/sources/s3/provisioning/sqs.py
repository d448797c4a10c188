"""Provisions SQS queues: reads, creates, changes and deletes them."""

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from headwater.sources.planning.actions import Observed
from headwater.sources.provisioner import ResourceAction, ResourceKind
from headwater.sources.s3.aws import asking, error_code
from headwater.sources.s3.queue import name_queue

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType

_MISSING = frozenset({"QueueDoesNotExist", "NonExistentQueue"})
# A name is available again one minute after its queue was deleted.
DELETED_PATIENCE_SECONDS = 75


class QueueResources:
    """Queue and dead-letter queue."""

    def __init__(self, client: "SQSClient", *, pause_seconds: float = 5) -> None:
        self._client = client
        self._pause_seconds = pause_seconds

    def read(self, kind: ResourceKind, name: str, url: str | None = None) -> Observed | None:
        """Read the queue by its URL or its name; return None if there is none."""
        with asking(name_queue(url or name), "sqs"):
            url = url or self.find_url(name)
            if url is None:
                return None
            try:
                answer = self._client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
                tags = self._client.list_queue_tags(QueueUrl=url).get("Tags", {})
            except ClientError as error:
                if error_code(error) in _MISSING:
                    return None
                raise
        attributes = {str(key): value for key, value in answer.get("Attributes", {}).items()}
        arn = attributes.get("QueueArn", "")
        return Observed(kind, arn.rsplit(":", 1)[-1] or name, arn, attributes, tags)

    def find_url(self, name: str) -> str | None:
        """Return the URL of a queue; None if there is none of that name. Raises botocore's errors."""
        try:
            return self._client.get_queue_url(QueueName=name)["QueueUrl"]
        except ClientError as error:
            if error_code(error) in _MISSING:
                return None
            raise

    def create(self, action: ResourceAction) -> None:
        """Create it with all its attributes and tags, so that it is ours from the start."""
        attributes, tags = action.list_written()
        given = {_as_attribute(name): value for name, value in attributes.items() if value}
        attempts = Retrying(
            retry=retry_if_exception(_is_deleted_recently),
            stop=stop_after_delay(DELETED_PATIENCE_SECONDS),
            wait=wait_fixed(self._pause_seconds),
            reraise=True,
        )
        with asking(name_queue(action.resource), "sqs"):
            attempts(self._client.create_queue, QueueName=action.resource, Attributes=given, tags=tags)

    def update(self, action: ResourceAction) -> None:
        """Write differences."""
        attributes, tags = action.list_written()
        with asking(name_queue(action.resource), "sqs"):
            url = self._client.get_queue_url(QueueName=action.resource)["QueueUrl"]
            if tags:
                self._client.tag_queue(QueueUrl=url, Tags=tags)
            if attributes:
                given = {_as_attribute(name): value for name, value in attributes.items()}
                self._client.set_queue_attributes(QueueUrl=url, Attributes=given)

    def delete(self, action: ResourceAction) -> None:
        """Delete it with all its messages; do nothing if it was deleted in the meantime."""
        with asking(name_queue(action.resource), "sqs"):
            url = self.find_url(action.resource)
            if url is not None:
                self._client.delete_queue(QueueUrl=url)


def _is_deleted_recently(error: BaseException) -> bool:
    return isinstance(error, ClientError) and error_code(error) == "QueueDeletedRecently"


def _as_attribute(name: str) -> "QueueAttributeNameType":
    # The plan holds any service's attributes; those of a queue are SQS's by now.
    return name  # type: ignore[return-value]

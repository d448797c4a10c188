"""Changes a bucket's notification configuration concurrently with other writers."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from botocore.exceptions import ClientError
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from headwater.errors import ResourceConflictError
from headwater.sources.s3.aws import asking, error_code
from headwater.sources.s3.planning.notification_merge import Merge
from headwater.sources.s3.planning.notification_rules import Configuration, is_same, list_routes
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import NotificationConfigurationTypeDef

MERGE_TRIES = 5
# A queue's new policy takes effect after some seconds; S3 tests the queue before it accepts a rule.
DESTINATION_PATIENCE_SECONDS = 60

MergeInto = Callable[[Configuration], Merge]


class BucketNotification:
    """Reads and writes one bucket's configuration. `owner_account` excludes other accounts' buckets."""

    def __init__(
        self,
        client: "S3Client",
        bucket: str,
        owner_account: str = "",
        *,
        pause_seconds: float = 2,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._bucket = bucket
        self._owner = {"ExpectedBucketOwner": owner_account} if owner_account else {}
        self._subject = Subject(f"bucket {bucket}", "source", "")
        self._pause_seconds = pause_seconds
        self._sleep = sleep

    def read(self) -> Configuration:
        """Return the configuration in S3's format."""
        with asking(self._subject, "s3"):
            answer = self._client.get_bucket_notification_configuration(Bucket=self._bucket, **self._owner)
        return {name: value for name, value in answer.items() if name != "ResponseMetadata"}

    def write(self, merge_into: MergeInto) -> Merge:
        """Merge into the current configuration, write and re-read it; repeat if it was overwritten.

        S3 has no conditional write: a change by another writer between our read and our write is lost. The
        write follows the read directly, so that window is one request long.

        Raises `ResourceConflictError` for problems of the merge, and if others change the configuration each
        time.
        """
        for attempt in range(MERGE_TRIES):
            current = self.read()
            merge = merge_into(current)
            ensure_no_problems(merge)
            if not merge.changes:
                return merge
            self._put(merge.configuration)
            found = self.read()
            if is_same(found, merge.configuration) or not merge_into(found).changes:
                return merge
            self._sleep(self._pause_seconds * attempt)
        raise ResourceConflictError(
            f"bucket {self._bucket}: another process keeps changing its notification configuration "
            f"({MERGE_TRIES} tries)",
            hint="find the process that writes the whole configuration (as Terraform's "
            "aws_s3_bucket_notification does) and add headwater's rule there, or set source.notifications to "
            "eventbridge. Current rules: "
            f"{', '.join(item.id for item in list_routes(self.read()) if item.id) or 'none'}",
        )

    def _put(self, configuration: Configuration) -> None:
        attempts = Retrying(
            retry=retry_if_exception(_is_destination_refused),
            stop=stop_after_delay(DESTINATION_PATIENCE_SECONDS if self._pause_seconds else 0),
            wait=wait_fixed(self._pause_seconds),
            sleep=self._sleep,
            reraise=True,
        )
        with asking(self._subject, "s3"):
            attempts(
                self._client.put_bucket_notification_configuration,
                Bucket=self._bucket,
                NotificationConfiguration=cast("NotificationConfigurationTypeDef", configuration),
                **self._owner,
            )


def ensure_no_problems(merge: Merge) -> None:
    """Raise `ResourceConflictError` with the first problem of a merge."""
    if merge.problems:
        raise ResourceConflictError(merge.problems[0].detail, hint=merge.problems[0].fix)


def _is_destination_refused(error: BaseException) -> bool:
    text = str(error)
    return (
        isinstance(error, ClientError)
        and error_code(error) == "InvalidArgument"
        and "destination configuration" in text
    )

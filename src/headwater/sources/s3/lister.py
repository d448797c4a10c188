"""Objects of an S3 bucket by ListObjectsV2, and files stored in S3, such as inventory reports."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from headwater.errors import SourceError, UsageError
from headwater.sources.lister import ListedObject
from headwater.sources.s3.access import Access, open_session
from headwater.sources.s3.aws import FALLBACK_REGION, error_code, explain_aws_failure
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ListObjectsV2RequestTypeDef, ObjectTypeDef

    from headwater.config.source import S3SourceConfig

# A listing takes minutes to hours: a busy or restarting store must not end it.
_PATIENT = Config(
    retries={"mode": "adaptive", "total_max_attempts": 8},
    connect_timeout=10,
    read_timeout=60,
    tcp_keepalive=True,
)
_LIST_RIGHTS = (
    "allow s3:ListBucket on the bucket, or disable listing: "
    "reconcile: {include_existing_files: false, backfill_interval: off}"
)
_FETCH_RIGHTS = "allow s3:GetObject on the inventory's objects"


class S3Lister:
    """Lists the current objects of one bucket, page by page. Calls `pace` before each request.

    A listing of a versioned bucket has only the newest versions, without their ids.
    """

    def __init__(
        self,
        client: "S3Client",
        bucket: str,
        *,
        pace: Callable[[], None] = lambda: None,
        page_size: int = 1000,
    ) -> None:
        self._client = client
        self._bucket = bucket
        self._pace = pace
        self._page_size = page_size

    def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
        """See `Lister.iter_objects`."""
        # With no EncodingType given, botocore requests `url`, because control characters would break the
        # response. It decodes the keys only if the store reports that it has encoded them.
        request: ListObjectsV2RequestTypeDef = {
            "Bucket": self._bucket,
            "Prefix": prefix,
            "MaxKeys": self._page_size,
        }
        if start_after:
            request["StartAfter"] = start_after
        while True:
            self._pace()
            try:
                page = self._client.list_objects_v2(**request)
            except (BotoCoreError, ClientError) as error:
                subject = Subject(f"the listing of bucket {self._bucket}", "source", _LIST_RIGHTS)
                raise explain_aws_failure(error, subject) from error
            for entry in page.get("Contents", ()):
                yield _to_listed(entry)
            token = page.get("NextContinuationToken")
            if not page.get("IsTruncated"):
                return
            if not token:
                raise SourceError(
                    f"the listing of bucket {self._bucket} is truncated, but has no continuation token",
                    hint="the store at source.endpoint does not fully support ListObjectsV2",
                )
            request["ContinuationToken"] = token

    def close(self) -> None:
        """Close connections."""
        self._client.close()


def _to_listed(entry: "ObjectTypeDef") -> ListedObject:
    return ListedObject(
        key=entry["Key"],
        size=entry["Size"],
        etag=entry.get("ETag", "").strip('"'),
        version_id=None,
        last_modified=entry["LastModified"],
    )


class S3Files:
    """Files under `s3://` addresses."""

    def __init__(self, client: "S3Client") -> None:
        self._client = client

    def fetch(self, uri: str, target: Path) -> None:
        """Download a file to this machine.

        Raises `UsageError` if there is none, `SourceError` if it cannot be read.
        """
        # Not urlsplit: a key may hold `#` and `?`.
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        try:
            self._client.download_file(bucket, key, str(target))
        except (BotoCoreError, ClientError) as error:
            if isinstance(error, ClientError) and error_code(error) in {"404", "NoSuchKey"}:
                raise UsageError(f"{uri} does not exist", hint="check bucket and key") from error
            raise explain_aws_failure(error, Subject(uri, "source", _FETCH_RIGHTS)) from error


def build_listing_client(source: "S3SourceConfig") -> "S3Client":
    """Build a client that retries a busy store for a long time. Raises `SourceError` if that fails."""
    try:
        session = boto3.session.Session(botocore_session=open_session(Access.of(source)))
        return session.client(
            "s3",
            region_name=source.region
            or session.region_name
            or (FALLBACK_REGION if source.endpoint else None),
            endpoint_url=source.endpoint,
            config=_PATIENT.merge(Config(s3={"addressing_style": "path" if source.endpoint else "auto"})),
        )
    except (BotoCoreError, ValueError) as error:
        raise SourceError(
            f"S3 at {source.endpoint or 'AWS'}: {error}",
            hint="check the endpoint, the region and AWS_PROFILE",
        ) from error

"""Tags, moves or deletes objects of an S3 bucket through boto3."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from headwater.errors import ConfigError, ObjectForbiddenError
from headwater.sources.cleaner import CleanResult, CleanTarget
from headwater.sources.lister import ListedObject
from headwater.sources.s3.aws import asking, error_code, error_status
from headwater.sources.s3.lister import build_listing_client
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import HeadObjectOutputTypeDef, TagTypeDef

    from headwater.config.source import SourceConfig

MAX_TAGS = 10
_HEADERS = ("CacheControl", "ContentDisposition", "ContentEncoding", "ContentLanguage", "ContentType")
_RIGHTS = "`headwater plan --policies` prints all permissions of the role ingest"
_ABSENT = frozenset({"404", "NoSuchKey"})


@dataclass(frozen=True, slots=True)
class CopySizes:
    """Sizes in bytes. S3 copies an object smaller than `in_parts` in one request, and only then keeps its
    metadata and tags. A larger one is copied in parts of `part`.
    """

    in_parts: int = 5 * 1024**3
    part: int = 512 * 1024**2


class S3Cleaner:
    """Sends a HEAD request before each action; the store checks the etag again if it supports that."""

    def __init__(
        self, client: "S3Client", bucket: str, target: CleanTarget, sizes: CopySizes = CopySizes()
    ) -> None:
        self._client = client
        self._bucket = bucket
        self._target = target
        self._checks_deletes = True
        self._sizes = sizes
        self._copying = TransferConfig(multipart_threshold=sizes.in_parts, multipart_chunksize=sizes.part)

    def clean(self, listed: ListedObject) -> CleanResult:
        """See `SourceCleaner.clean`."""
        subject = Subject(f"{listed.key!r} in bucket {self._bucket}", "source", _RIGHTS)
        with asking(subject, "s3"):
            try:
                return self._clean(listed)
            except ClientError as error:
                if error_code(error) in _ABSENT:
                    return "gone"
                if error_status(error) == 412:
                    return "changed"
                if error_code(error) in ("InvalidObjectState", "ObjectAlreadyInActiveTierError"):
                    raise ObjectForbiddenError(f"{listed.key!r} is archived: {error_code(error)}") from error
                raise

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _clean(self, listed: ListedObject) -> CleanResult:
        found = self._client.head_object(Bucket=self._bucket, Key=listed.key)
        is_same_time = _to_seconds(found["LastModified"]) == _to_seconds(listed.last_modified)
        if found.get("ETag", "").strip('"') != listed.etag or not is_same_time:
            return "changed"
        if self._target.action == "tag":
            self._tag(listed.key, found.get("VersionId"))
            return "cleaned"
        if self._target.action == "move":
            self._copy(listed, found)
        self._delete(listed)
        return "cleaned"

    def _tag(self, key: str, version_id: str | None) -> None:
        which: Any = {"Bucket": self._bucket, "Key": key}
        if version_id:
            which["VersionId"] = version_id
        old = {tag["Key"]: tag["Value"] for tag in self._client.get_object_tagging(**which)["TagSet"]}
        tags = {**old, **self._target.tags}
        if tags == old:
            return
        if len(tags) > MAX_TAGS:
            raise ObjectForbiddenError(
                f"{key!r} already has {len(old)} tags; an object can have at most {MAX_TAGS}",
                hint="remove tags; the object will be retried",
            )
        tag_set: list[TagTypeDef] = [{"Key": name, "Value": value} for name, value in tags.items()]
        self._client.put_object_tagging(**which, Tagging={"TagSet": tag_set})

    def _copy(self, listed: ListedObject, found: "HeadObjectOutputTypeDef") -> None:
        bucket, _, prefix = self._target.move_to.partition("/")
        source: Any = {"Bucket": self._bucket, "Key": listed.key}
        extra: dict[str, Any] = {"CopySourceIfMatch": f'"{listed.etag}"'}
        if found["ContentLength"] >= self._sizes.in_parts:
            headers: dict[str, Any] = {**found}
            extra |= {name: headers[name] for name in _HEADERS if name in headers}
            extra["Metadata"] = found.get("Metadata", {})
            tags = self._client.get_object_tagging(Bucket=self._bucket, Key=listed.key)["TagSet"]
            extra["Tagging"] = urlencode([(tag["Key"], tag["Value"]) for tag in tags])
            # Without these values newer clients ignore the given metadata and tags.
            extra |= {"MetadataDirective": "REPLACE", "TaggingDirective": "REPLACE"}
        self._client.copy(source, bucket, prefix + listed.key, ExtraArgs=extra, Config=self._copying)

    def _delete(self, listed: ListedObject) -> None:
        if self._checks_deletes:
            try:
                self._client.delete_object(Bucket=self._bucket, Key=listed.key, IfMatch=f'"{listed.etag}"')
            except ClientError as error:
                if error_status(error) != 501:
                    raise
                # The HEAD request just before must suffice if the store supports no conditional deletes.
                self._checks_deletes = False
            else:
                return
        self._client.delete_object(Bucket=self._bucket, Key=listed.key)


def _to_seconds(time: datetime) -> int:
    # A listing has milliseconds, the response to a HEAD has not.
    return int(time.timestamp())


def build_s3_cleaner(source: "SourceConfig") -> S3Cleaner:
    """Build the cleaner of a bucket. Raises `ConfigError` if nothing is to be cleaned, and `SourceError`."""
    if source.type != "s3" or source.clean_source == "off":
        raise ConfigError(f"no bucket to clean: type {source.type!r}, clean_source {source.clean_source!r}")
    target = CleanTarget(source.clean_source, source.clean_source_target, source.clean_source_tags)
    # As patient as a listing: both process a whole bucket.
    return S3Cleaner(build_listing_client(source), source.bucket, target)

"""The object of a probe in S3."""

from typing import TYPE_CHECKING

from headwater.sources.probe import PROBE_CONTENT, name_probe
from headwater.sources.s3.aws import asking
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class S3ProbeObject:
    """See `ProbeObject`."""

    def __init__(self, client: "S3Client", bucket: str, prefix: str) -> None:
        self._client = client
        self._subject = Subject(f"bucket {bucket}", "source", "")
        self._versions: list[str] = []
        self.bucket = bucket
        self.key = name_probe(prefix)

    def put(self) -> None:
        """See `ProbeObject`."""
        with asking(self._subject, "s3"):
            answer = self._client.put_object(Bucket=self.bucket, Key=self.key, Body=PROBE_CONTENT)
        self._versions.append(answer.get("VersionId", ""))

    def remove(self) -> None:
        """Delete every version that was put, so that a versioned bucket keeps none."""
        versions, self._versions = self._versions, []
        with asking(self._subject, "s3"):
            for version in dict.fromkeys(versions):
                if version:
                    self._client.delete_object(Bucket=self.bucket, Key=self.key, VersionId=version)
                else:
                    self._client.delete_object(Bucket=self.bucket, Key=self.key)

"""What S3 may answer to a listing besides a listing; botocore is the real one, its answers are scripted."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.config import Config
from botocore.stub import Stubber

from headwater.errors import CredentialsError, SourceError, SourceUnavailableError
from headwater.sources.s3.lister import S3Lister

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

ENTRY = {"Key": "a", "Size": 1, "ETag": '"e"', "LastModified": "2026-05-01T00:00:00Z"}


@dataclass(frozen=True)
class Script:
    """A client, and what it will be answered."""

    client: "S3Client"
    stubber: Stubber


@pytest.fixture
def script() -> Iterator[Script]:
    client = boto3.session.Session().client(
        "s3",
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"total_max_attempts": 1}),
    )
    with Stubber(client) as stubber:
        yield Script(client, stubber)
    client.close()


@pytest.mark.parametrize(
    ("code", "status", "kind", "expected_message"),
    [
        ("AccessDenied", 403, CredentialsError, "s3:ListBucket"),
        ("NoSuchBucket", 404, SourceError, "source.endpoint"),
        ("SlowDown", 503, SourceUnavailableError, "retried"),
        ("PermanentRedirect", 301, SourceError, "source.region"),
    ],
)
def test_a_refusal_is_explained(
    script: Script, code: str, status: int, kind: type[SourceError], expected_message: str
) -> None:
    script.stubber.add_client_error("list_objects_v2", code, "no", status)
    with pytest.raises(kind, match="landing") as failure:
        list(S3Lister(script.client, "landing").iter_objects())
    assert expected_message in failure.value.hint
    assert isinstance(failure.value, SourceError)


def test_pages_follow_each_other_and_each_request_is_paced(script: Script) -> None:
    first = {"Contents": [ENTRY], "IsTruncated": True, "NextContinuationToken": "t"}
    asked = {"Bucket": "landing", "Prefix": "p", "MaxKeys": 7, "StartAfter": "p0"}
    script.stubber.add_response("list_objects_v2", first, asked)
    last = {"Contents": [{**ENTRY, "Key": "b"}], "IsTruncated": False}
    script.stubber.add_response("list_objects_v2", last, asked | {"ContinuationToken": "t"})
    paced = []
    lister = S3Lister(script.client, "landing", pace=lambda: paced.append(1), page_size=7)
    assert [listed.key for listed in lister.iter_objects("p", "p0")] == ["a", "b"]
    assert len(paced) == 2


def test_listing_without_continuation_token_is_incomplete(script: Script) -> None:
    script.stubber.add_response("list_objects_v2", {"Contents": [ENTRY], "IsTruncated": True})
    with pytest.raises(SourceError, match="has no continuation token"):
        list(S3Lister(script.client, "landing").iter_objects())

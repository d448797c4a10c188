"""What a bucket's refusals become; the queue's and the object store's have tests of their own."""

from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from headwater.errors import BucketNotFoundError, CredentialsError, SourceError, SourceUnavailableError
from headwater.sources.s3.aws import explain_aws_failure, is_denied
from headwater.sources.subject import Subject

SUBJECT = Subject("bucket acme", "source", "allow s3:ListBucket")


def refuse(code: str, status: int = 400) -> ClientError:
    # Only what is looked at: answers have more.
    answer: Any = {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "HeadBucket")


@pytest.mark.parametrize(
    ("code", "status", "expected", "hint"),
    [
        ("NoSuchBucket", 404, BucketNotFoundError, "endpoint"),
        ("404", 404, BucketNotFoundError, "endpoint"),
        ("AccessDenied", 403, CredentialsError, "s3:ListBucket"),
        ("403", 403, CredentialsError, "s3:ListBucket"),
        ("InvalidAccessKeyId", 403, CredentialsError, "AWS_ACCESS_KEY_ID"),
        ("InvalidToken", 400, CredentialsError, "AWS_SESSION_TOKEN"),
        ("RequestTimeTooSkewed", 403, CredentialsError, "clock"),
        ("PermanentRedirect", 301, SourceError, "source.region"),
        ("SlowDown", 503, SourceUnavailableError, "retried"),
        ("Whatever", 400, SourceError, "source"),
    ],
)
def test_each_rejection_has_its_error_and_next_step(
    code: str, status: int, expected: type[SourceError], hint: str
) -> None:
    error = explain_aws_failure(refuse(code, status), SUBJECT)
    assert type(error) is expected
    assert hint in error.hint
    assert "bucket acme" in error.message


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (NoCredentialsError(), CredentialsError),
        (EndpointConnectionError(endpoint_url="http://nowhere"), SourceUnavailableError),
    ],
)
def test_trouble_before_the_request_has_its_error(cause: Exception, expected: type[SourceError]) -> None:
    assert isinstance(cause, NoCredentialsError | EndpointConnectionError)
    assert type(explain_aws_failure(cause, SUBJECT)) is expected


def test_only_a_missing_right_is_denied() -> None:
    assert is_denied(refuse("AccessDenied", 403))
    assert not is_denied(refuse("InvalidAccessKeyId", 403))
    assert not is_denied(NoCredentialsError())

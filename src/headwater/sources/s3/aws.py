"""Code shared by all clients of AWS and compatible services; the only module that knows their error codes."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from botocore import exceptions as boto
from botocore.exceptions import BotoCoreError, ClientError

from headwater.errors import (
    BucketNotFoundError,
    CredentialsError,
    QueueNotFoundError,
    SourceError,
    SourceUnavailableError,
)
from headwater.sources.subject import Subject

AwsError = BotoCoreError | ClientError

FALLBACK_REGION = "us-east-1"
"""For an endpoint of a compatible service: a signature needs a region, and most services ignore which."""

NO_CREDENTIALS = (
    boto.NoCredentialsError,
    boto.PartialCredentialsError,
    boto.CredentialRetrievalError,
    boto.TokenRetrievalError,
    boto.SSOError,
    boto.ProfileNotFound,
)
NO_CREDENTIALS_HINT = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a machine role"
_MISSING_QUEUE = frozenset(
    {"QueueDoesNotExist", "NonExistentQueue", "InvalidAddress", "QueueDeletedRecently"}
)
_WRONG_REGION = frozenset(
    {"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"}
)
_CLOCK = frozenset({"RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture"})
_WRONG_SECRET = frozenset({"SignatureDoesNotMatch", "InvalidSignatureException", "IncompleteSignature"})
_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"})
_WRONG_KEY = frozenset(
    {
        "InvalidClientTokenId",
        "UnrecognizedClientException",
        "InvalidAccessKeyId",
        "MissingAuthenticationToken",
    }
)
_DENIED = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthorizationError",  # SNS
        "InvalidSecurity",
        "KmsAccessDenied",
        "OptInRequired",
    }
)
_BUSY = frozenset(
    {
        "InternalError",
        "InternalFailure",
        "KmsThrottled",
        "RequestThrottled",
        "RequestTimeout",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
# Rights whose name differs from that of the request.
_RIGHTS: Mapping[str, str] = {
    "HeadBucket": "ListBucket",
    "ListObjectsV2": "ListBucket",
    "GetBucketNotificationConfiguration": "GetBucketNotification",
    "PutBucketNotificationConfiguration": "PutBucketNotification",
}


def error_code(error: ClientError) -> str:
    """Return the code without its namespace: SQS sends `AWS.SimpleQueueService.NonExistentQueue`."""
    return str(error.response.get("Error", {}).get("Code", "")).rsplit(".", 1)[-1].rsplit("#", 1)[-1]


def error_status(error: ClientError) -> int:
    """Return the HTTP status, or 0 if there is none."""
    return error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)


def is_denied(error: AwsError) -> bool:
    """True if valid credentials lack a right. A HEAD response has no body, so only its status is checked."""
    return isinstance(error, ClientError) and error_code(error) in {*_DENIED, "403", "Forbidden"}


def is_busy(error: ClientError) -> bool:
    """True if the same request may succeed later."""
    status = error_status(error)
    return error_code(error) in _BUSY or status == 429 or status >= 500


def is_wrong_region(error: ClientError) -> bool:
    """True if S3 reports that the bucket is in another region."""
    return error_code(error) in _WRONG_REGION


def find_credentials_hint(error: ClientError) -> str:
    """Return a fix for rejected credentials; empty for other errors."""
    code = error_code(error)
    text = str(error.response.get("Error", {}).get("Message", ""))
    # "Signature expired: ... is now earlier than ..." arrives as an invalid signature, but the clock is
    # wrong.
    if code in _CLOCK or (code in _WRONG_SECRET and re.search(r"expired|not yet current", text)):
        return "the clock of this machine is off by minutes: synchronize it (timedatectl, chrony, ntpd)"
    if code in _WRONG_SECRET:
        return "the secret key does not belong to the access key: check AWS_SECRET_ACCESS_KEY or the profile"
    if code in _EXPIRED:
        return "the credentials have expired: log in again (aws sso login) or renew the token"
    if code == "InvalidToken":
        return "the session token is not valid: check AWS_SESSION_TOKEN"
    if code in _WRONG_KEY:
        return (
            "the access key is unknown to the service: check AWS_ACCESS_KEY_ID or the profile, "
            "the endpoint and the region"
        )
    return ""


def find_retrieval_hint(error: AwsError) -> str:
    """Return a fix for credentials that are unavailable."""
    if isinstance(error, boto.CredentialRetrievalError) and "assume-role" in str(error):
        return (
            "check `role_arn` and `external_id` of the source, the role's trust policy, and whether the "
            "credentials of this process may call sts:AssumeRole"
        )
    return NO_CREDENTIALS_HINT


def explain_aws_failure(error: AwsError, subject: Subject) -> SourceError:
    """Convert a failure at a queue or bucket into headwater's error, with a fix."""
    if isinstance(error, ClientError):
        return _explain_answer(error, subject)
    if isinstance(error, NO_CREDENTIALS):
        return CredentialsError(
            f"no credentials for {subject.name}: {error}", hint=find_retrieval_hint(error)
        )
    if isinstance(error, boto.HTTPClientError | boto.ConnectionError):
        return SourceUnavailableError(
            f"{subject.name} does not answer: {error}",
            hint=f"check the network and {subject.setting}.endpoint; the request will be retried",
        )
    return SourceError(f"{subject.name}: {error}", hint=f"check {subject.setting} and the AWS configuration")


@contextmanager
def asking(subject: Subject, service: str) -> Iterator[None]:
    """Convert AWS errors raised inside; an access-denied error names the missing right.

    `service` is the prefix of the service's rights: `sqs`, `s3`, `events`.
    """
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        if isinstance(error, ClientError) and is_denied(error) and not find_credentials_hint(error):
            raise _explain_denial(error, subject, service) from error
        raise explain_aws_failure(error, subject) from error


def _explain_denial(error: ClientError, subject: Subject, service: str) -> CredentialsError:
    right = f"{service}:{_RIGHTS.get(error.operation_name, error.operation_name)}"
    return CredentialsError(
        f"{subject.name}: {right} is denied: {error_code(error)}",
        hint=f"allow {right}; `headwater plan --policies` prints all permissions of the role set-up",
    )


def _explain_answer(error: ClientError, subject: Subject) -> SourceError:
    code = error_code(error)
    text = str(error.response.get("Error", {}).get("Message", ""))
    says = f"{subject.name}: {code}: {text}"
    if code in _MISSING_QUEUE:
        return QueueNotFoundError(
            f"{subject.name} does not exist: {code}: {text}",
            hint=f"check the account, the name and the region in {subject.setting}.url",
        )
    if code in {"NoSuchBucket", "404"}:
        return BucketNotFoundError(
            f"{subject.name} does not exist: {code}",
            hint=f"check the name and {subject.setting}.endpoint; `aws s3 mb` creates a bucket",
        )
    credentials_hint = find_credentials_hint(error)
    if credentials_hint:
        return CredentialsError(says, hint=credentials_hint)
    if is_denied(error):
        return CredentialsError(says, hint=subject.rights)
    if is_wrong_region(error):
        return SourceError(says, hint=f"the bucket is in another region: set {subject.setting}.region")
    if is_busy(error):
        return SourceUnavailableError(says, hint="the request will be retried")
    return SourceError(says, hint=f"check {subject.setting} in the configuration")

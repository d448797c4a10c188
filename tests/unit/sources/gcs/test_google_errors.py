"""What refusals of Google's services become."""

import pytest
import requests
from google.api_core import exceptions as api
from google.auth import exceptions as auth

from headwater.errors import (
    BucketNotFoundError,
    CredentialsError,
    QueueNotFoundError,
    SourceError,
    SourceUnavailableError,
)
from headwater.sources.gcs.google_errors import asking, explain_google_failure
from headwater.sources.subject import Subject

SUBJECT = Subject("bucket acme", "source.bucket", "grant roles/storage.objectViewer")


@pytest.mark.parametrize(
    ("cause", "expected", "hint"),
    [
        (api.NotFound("no such bucket"), BucketNotFoundError, "source.bucket"),
        (api.Forbidden("no"), CredentialsError, "roles/storage.objectViewer"),
        (api.PermissionDenied("no"), CredentialsError, "roles/storage.objectViewer"),
        (api.Unauthenticated("no"), CredentialsError, "GOOGLE_APPLICATION_CREDENTIALS"),
        (api.Unauthorized("no"), CredentialsError, "GOOGLE_APPLICATION_CREDENTIALS"),
        (auth.DefaultCredentialsError("none"), CredentialsError, "GOOGLE_APPLICATION_CREDENTIALS"),
        (auth.RefreshError("expired"), CredentialsError, "GOOGLE_APPLICATION_CREDENTIALS"),
        (auth.RefreshError("busy", retryable=True), SourceUnavailableError, "retried"),
        (auth.TransportError("no route"), SourceUnavailableError, "retried"),
        (api.ServiceUnavailable("busy"), SourceUnavailableError, "retried"),
        (api.TooManyRequests("slow down"), SourceUnavailableError, "retried"),
        (api.ResourceExhausted("quota"), SourceUnavailableError, "retried"),
        (api.DeadlineExceeded("late"), SourceUnavailableError, "retried"),
        (requests.ConnectionError("refused"), SourceUnavailableError, "retried"),
        (requests.Timeout("late"), SourceUnavailableError, "retried"),
        (api.InvalidArgument("odd"), SourceError, "source.bucket"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_each_refusal_has_its_error_and_next_step(
    cause: Exception, expected: type[SourceError], hint: str
) -> None:
    error = explain_google_failure(cause, SUBJECT, BucketNotFoundError)
    assert type(error) is expected
    assert hint in error.hint
    assert "bucket acme" in error.message


def test_errors_inside_are_converted_and_others_are_not() -> None:
    with pytest.raises(QueueNotFoundError), asking(SUBJECT, QueueNotFoundError):
        raise api.NotFound("no")
    with pytest.raises(KeyError), asking(SUBJECT):
        raise KeyError("ours")


def test_a_message_is_one_line() -> None:
    error = explain_google_failure(api.Forbidden("first\nsecond  third"), SUBJECT)
    assert "first second third" in error.message

"""Code shared by all clients of Google Cloud; the only module that knows their errors."""

from collections.abc import Iterator
from contextlib import contextmanager

import requests
from google.api_core import exceptions as api
from google.auth import exceptions as auth

from headwater.errors import CredentialsError, QueueNotFoundError, SourceError, SourceUnavailableError
from headwater.sources.subject import Subject

GOOGLE_ERRORS = (api.GoogleAPIError, auth.GoogleAuthError, requests.RequestException)

NO_CREDENTIALS_HINT = (
    "set GOOGLE_APPLICATION_CREDENTIALS, run `gcloud auth application-default login`, or use a machine's "
    "service account"
)
BUSY_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
_BUSY = (
    api.ServerError,
    api.TooManyRequests,
    api.Aborted,
    api.DeadlineExceeded,
    api.Cancelled,
    api.RetryError,
    auth.TransportError,
    requests.ConnectionError,
    requests.Timeout,
)


def is_busy(error: Exception) -> bool:
    """True if the same request may succeed later."""
    if isinstance(error, auth.RefreshError):
        return bool(error.retryable)
    # Emulators lack some methods.
    return isinstance(error, _BUSY) and not isinstance(error, api.MethodNotImplemented)


@contextmanager
def asking(subject: Subject, missing: type[SourceError] = SourceError) -> Iterator[None]:
    """Convert errors of Google's clients raised inside; `missing` is the error for an absent subject."""
    try:
        yield
    except GOOGLE_ERRORS as error:
        raise explain_google_failure(error, subject, missing) from error


@contextmanager
def needing(right: str, subject: Subject, missing: type[SourceError] = SourceError) -> Iterator[None]:
    """Convert errors as `asking` does; a denial names the permission that the request needs."""
    try:
        yield
    except api.Forbidden as error:
        raise CredentialsError(
            f"{subject.name}: {right} is denied: {describe(error)}",
            hint=f"allow {right}; `headwater plan --policies` prints all permissions of the role set-up",
        ) from error
    except GOOGLE_ERRORS as error:
        raise explain_google_failure(error, subject, missing) from error


def explain_google_failure(
    error: Exception, subject: Subject, missing: type[SourceError] = SourceError
) -> SourceError:
    """Convert a failure at a bucket, topic or subscription into headwater's error, with a fix."""
    text = describe(error)
    if isinstance(error, api.NotFound):
        create = "create it with `headwater up`, or " if missing is QueueNotFoundError else ""
        hint = f"{create}check {subject.setting} and the project"
        return missing(f"{subject.name} does not exist: {text}", hint=hint)
    if isinstance(error, api.Forbidden):
        return CredentialsError(f"{subject.name}: access is denied: {text}", hint=subject.rights)
    if is_busy(error):
        return SourceUnavailableError(
            f"{subject.name} does not answer: {text}", hint="the request will be retried"
        )
    if isinstance(error, api.Unauthenticated | api.Unauthorized | auth.GoogleAuthError):
        return CredentialsError(f"no usable credentials for {subject.name}: {text}", hint=NO_CREDENTIALS_HINT)
    return SourceError(f"{subject.name}: {text}", hint=f"check {subject.setting} in the configuration")


def describe(error: Exception) -> str:
    """Return the service's message on one line, without the request that the client quotes."""
    text = error.message if isinstance(error, api.GoogleAPICallError) else str(error)
    return " ".join(str(text or type(error).__name__).split())

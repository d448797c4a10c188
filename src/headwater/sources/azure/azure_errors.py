"""Code shared by all clients of Azure; the only module that knows their errors."""

from collections.abc import Iterator
from contextlib import contextmanager

from azure.core import exceptions as core

from headwater.config.azure_account import describe_azure_chain
from headwater.errors import CredentialsError, SourceError, SourceUnavailableError
from headwater.sources.subject import Subject

AzureError = core.AzureError

NO_CREDENTIALS_HINT = (
    "set AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, run `az login`, or use a managed identity"
)
_BUSY_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
# `AuthenticationFailed` has status 403, too: a wrong key, or a clock that is off.
_REJECTED = frozenset({"AuthenticationFailed", "InvalidAuthenticationInfo", "NoAuthenticationInformation"})


def read_code(error: Exception) -> str:
    """Return the service's error code, such as `BlobNotFound`; empty without one."""
    code = getattr(error, "error_code", None)
    return str(getattr(code, "value", code) or "")


def is_busy(error: Exception) -> bool:
    """True if the same request may succeed later."""
    if isinstance(error, core.ClientAuthenticationError):
        return False
    if isinstance(error, core.IncompleteReadError):
        return True
    if isinstance(error, core.HttpResponseError):
        return error.status_code in _BUSY_STATUSES
    return isinstance(error, core.ServiceRequestError | core.ServiceResponseError)


def is_rejected(error: Exception) -> bool:
    """True if the credentials are missing or invalid, rather than lacking a right."""
    if isinstance(error, core.ClientAuthenticationError):
        return True
    status = error.status_code if isinstance(error, core.HttpResponseError) else None
    return status == 401 or read_code(error) in _REJECTED


@contextmanager
def asking(subject: Subject, missing: type[SourceError] = SourceError) -> Iterator[None]:
    """Convert errors of Azure's clients raised inside; `missing` is the error for an absent subject."""
    try:
        yield
    except AzureError as error:
        raise explain_azure_failure(error, subject, missing) from error


def explain_azure_failure(
    error: Exception, subject: Subject, missing: type[SourceError] = SourceError
) -> SourceError:
    """Convert a failure at a container or queue into headwater's error, with a fix."""
    text = describe(error)
    if isinstance(error, core.ResourceNotFoundError):
        return missing(
            f"{subject.name} does not exist: {text}", hint=f"check {subject.setting} and the storage account"
        )
    if is_rejected(error):
        return CredentialsError(f"no usable credentials for {subject.name}: {text}", hint=NO_CREDENTIALS_HINT)
    if isinstance(error, core.HttpResponseError) and error.status_code == 403:
        return CredentialsError(f"{subject.name}: access is denied: {text}", hint=subject.rights)
    if is_busy(error):
        # Each account has a host name of its own.
        is_unreachable = isinstance(error, core.ServiceRequestError)
        hint = "check source.account and the network; " if is_unreachable else ""
        return SourceUnavailableError(
            f"{subject.name} does not answer: {text}", hint=f"{hint}the request will be retried"
        )
    return SourceError(f"{subject.name}: {text}", hint=f"check {subject.setting} in the configuration")


def describe(error: Exception) -> str:
    """Return the service's code and message on one line, without request ids and times."""
    text = str(getattr(error, "message", None) or error)
    if chain := describe_azure_chain(text):
        return chain
    # The service's message ends with lines for its support.
    first = text.replace("\r", "").partition("\nRequestId:")[0].partition("\nErrorCode:")[0]
    words = " ".join(first.split()) or type(error).__name__
    code = read_code(error)
    return f"{code}: {words}" if code and code not in words else words

"""What refusals of Azure's services become."""

import pytest
from azure.core import exceptions as core

from headwater.errors import (
    BucketNotFoundError,
    CredentialsError,
    QueueNotFoundError,
    SourceError,
    SourceUnavailableError,
)
from headwater.sources.azure.azure_errors import asking, explain_azure_failure
from headwater.sources.subject import Subject
from tests.fixtures.azure import refuse

SUBJECT = Subject("container landing", "source.container", "assign the role Storage Blob Data Reader")


@pytest.mark.parametrize(
    ("cause", "expected", "hint"),
    [
        (
            refuse(404, "ContainerNotFound"),
            BucketNotFoundError,
            "source.container",
        ),
        (refuse(403, "AuthorizationPermissionMismatch"), CredentialsError, "Storage Blob Data Reader"),
        (refuse(403, "AuthenticationFailed"), CredentialsError, "AZURE_STORAGE_KEY"),
        (refuse(401, "NoAuthenticationInformation"), CredentialsError, "AZURE_STORAGE_KEY"),
        (core.ClientAuthenticationError("no credential in the chain"), CredentialsError, "az login"),
        (refuse(503, "ServerBusy"), SourceUnavailableError, "retried"),
        (refuse(500, "InternalError"), SourceUnavailableError, "retried"),
        (refuse(429), SourceUnavailableError, "retried"),
        (core.ServiceRequestError("refused"), SourceUnavailableError, "retried"),
        (core.ServiceResponseError("late"), SourceUnavailableError, "retried"),
        (refuse(400, "InvalidUri"), SourceError, "source.container"),
    ],
    ids=str,
)
def test_each_refusal_has_its_error_and_next_step(
    cause: Exception, expected: type[SourceError], hint: str
) -> None:
    error = explain_azure_failure(cause, SUBJECT, BucketNotFoundError)
    assert type(error) is expected
    assert hint in error.hint
    assert "container landing" in error.message


def test_errors_inside_are_converted_and_others_are_not() -> None:
    with pytest.raises(QueueNotFoundError), asking(SUBJECT, QueueNotFoundError):
        raise refuse(404, "QueueNotFound")
    with pytest.raises(KeyError), asking(SUBJECT):
        raise KeyError("ours")


def test_a_message_is_one_line_with_the_code_and_without_ids() -> None:
    error = explain_azure_failure(refuse(400, "InvalidUri"), SUBJECT)
    assert error.message == "container landing: InvalidUri: refused"


CHAIN = """DefaultAzureCredential failed to retrieve a token from the included credentials.
Attempted credentials:
\tEnvironmentCredential: EnvironmentCredential authentication unavailable. Variables are not configured.
Visit https://aka.ms/azsdk/python/identity/environmentcredential/troubleshoot to troubleshoot this issue.
\tAzureCliCredential: Azure CLI not found on path{}
To mitigate this issue, please refer to the troubleshooting guidelines here at https://aka.ms/azsdk/."""


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        ("", "Azure's default chain found none"),
        (
            "\n\tManagedIdentityCredential: AADSTS700016: no such application",
            "ManagedIdentityCredential: AADSTS700016: no such application",
        ),
    ],
)
def test_only_refused_credentials_of_the_chain_are_named(refused: str, expected: str) -> None:
    error = explain_azure_failure(core.ClientAuthenticationError(CHAIN.format(refused)), SUBJECT)
    assert type(error) is CredentialsError
    assert error.message == f"no usable credentials for container landing: {expected}"

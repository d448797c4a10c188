"""Checks the container and the queue with its events."""

from contextlib import closing

from azure.core import exceptions as core

from headwater.config.source import AzureSourceConfig
from headwater.errors import BucketNotFoundError, CredentialsError, HeadwaterError, QueueNotFoundError
from headwater.sources.azure.azure_errors import asking, is_rejected
from headwater.sources.azure.clients import build_blob_client, build_queue_client
from headwater.sources.azure.queue import name_queue
from headwater.sources.finding import SetupFinding, to_finding
from headwater.sources.subject import Subject

CONTAINER = "source.container"
QUEUE = "source.queue.name"
_RIGHTS = "assign the role Storage Blob Data Reader"
# A check must respond soon: a user waits for it.
_TIMEOUTS = (5.0, 10.0)


def ensure_container(source: AzureSourceConfig) -> None:
    """Raise `CredentialsError` if credentials are missing or rejected, `SourceError` without a container.

    Credentials that may read blobs but not list them are sufficient.
    """
    subject = Subject(f"container {source.container} of account {source.account}", CONTAINER, _RIGHTS)
    client = build_blob_client(source.account, source.endpoint, attempts=2, timeouts=_TIMEOUTS)
    with closing(client), asking(subject, BucketNotFoundError):
        try:
            pages = client.get_container_client(source.container).list_blobs(results_per_page=1).by_page()
            next(pages, None)
        except core.HttpResponseError as error:
            if error.status_code != 403 or is_rejected(error):
                raise


def ensure_queue(source: AzureSourceConfig) -> None:
    """Raise `QueueNotFoundError` or `CredentialsError` if messages cannot be received."""
    client = build_queue_client(source)
    with closing(client), asking(name_queue(source.queue.name), QueueNotFoundError):
        # Receiving would hide a message, and the queue's properties need another right.
        client.peek_messages(max_messages=1)


def check_azure_source(source: AzureSourceConfig) -> list[SetupFinding]:
    """Check the container and the queue. Only Azure's management API knows the event subscription."""
    findings = []
    try:
        ensure_container(source)
        findings.append(SetupFinding(CONTAINER, "ok", f"{source.container} is reachable"))
    except HeadwaterError as error:
        findings.append(to_finding(CONTAINER, error))
        if isinstance(error, CredentialsError):
            return findings
    try:
        ensure_queue(source)
        findings.append(SetupFinding(QUEUE, "ok", f"{source.queue.name} is reachable"))
    except HeadwaterError as error:
        findings.append(to_finding(QUEUE, error))
    return findings

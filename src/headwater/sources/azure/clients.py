"""Builds Azure's clients: with a key, a shared access signature, or the machine's default credentials."""

import logging
from typing import TYPE_CHECKING

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.identity import DefaultAzureCredential
from azure.storage.blob import BlobServiceClient, LinearRetry
from azure.storage.queue import LinearRetry as QueueRetry
from azure.storage.queue import QueueClient

from headwater.config.azure_account import (
    EMULATOR_KEY,
    KEY_VARIABLE,
    SAS_VARIABLE,
    choose_azure_access,
)
from headwater.config.environment import read_environment

if TYPE_CHECKING:
    from headwater.config.source import AzureSourceConfig

# That no credential was found is an error of headwater's, and repeated by its retries.
logging.getLogger("azure.identity").setLevel(logging.ERROR)

# Larger reads take further requests.
_READ_BYTES = 8 * 1024**2

AzureCredential = AzureNamedKeyCredential | AzureSasCredential | DefaultAzureCredential


def find_credential(account: str, endpoint: str | None) -> "AzureCredential":
    """Return the credential for an account: from the variables, the emulator's own, else the default chain.

    Opens no connection: that the chain finds nothing is an error of the first request.
    """
    environ = read_environment()
    access = choose_azure_access(account, endpoint, environ)
    if access == "shared_access_signature":
        return AzureSasCredential(environ[SAS_VARIABLE])
    if access in ("key", "emulator"):
        return AzureNamedKeyCredential(account, environ.get(KEY_VARIABLE) or EMULATOR_KEY)
    return DefaultAzureCredential()


def build_blob_client(
    account: str, endpoint: str | None, *, attempts: int = 5, timeouts: tuple[float, float] = (5, 60)
) -> BlobServiceClient:
    """Build a thread-safe client of the blob service. `timeouts` are seconds to connect and to read."""
    connect, read = timeouts
    return BlobServiceClient(
        endpoint or f"https://{account}.blob.core.windows.net",
        credential=find_credential(account, endpoint),
        retry_policy=LinearRetry(backoff=1, retry_total=attempts - 1, random_jitter_range=1),
        connection_timeout=connect,
        read_timeout=read,
        max_single_get_size=_READ_BYTES,
        max_chunk_get_size=_READ_BYTES,
    )


def build_queue_client(source: "AzureSourceConfig") -> QueueClient:
    """Build a thread-safe client of the source's queue; texts are neither encoded nor decoded."""
    config = source.queue
    account = config.account or source.account
    return QueueClient(
        config.endpoint or f"https://{account}.queue.core.windows.net",
        config.name,
        credential=find_credential(account, config.endpoint),
        # The callers retry what can succeed later.
        retry_policy=QueueRetry(backoff=1, retry_total=0, random_jitter_range=0),
        connection_timeout=5,
        read_timeout=30,
    )

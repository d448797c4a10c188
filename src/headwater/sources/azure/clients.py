"""Builds Azure's clients: with a key, a shared access signature, or the machine's default credentials."""

import logging
from typing import TYPE_CHECKING

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.identity import DefaultAzureCredential
from azure.storage.blob import BlobServiceClient, LinearRetry
from azure.storage.queue import LinearRetry as QueueRetry
from azure.storage.queue import QueueClient

from headwater.config.environment import read_environment

if TYPE_CHECKING:
    from headwater.config.source import AzureSourceConfig

# That no credential was found is an error of headwater's, and repeated by its retries.
logging.getLogger("azure.identity").setLevel(logging.ERROR)

KEY_VARIABLE = "AZURE_STORAGE_KEY"
SAS_VARIABLE = "AZURE_STORAGE_SAS_TOKEN"
"""Variables that Azure's own command reads, too."""
EMULATOR_ACCOUNT = "devstoreaccount1"
# Published: every emulator has this account.
# https://learn.microsoft.com/azure/storage/common/storage-use-azurite#well-known-storage-account-and-key
_EMULATOR_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
# Larger reads take further requests.
_READ_BYTES = 8 * 1024**2

AzureCredential = AzureNamedKeyCredential | AzureSasCredential | DefaultAzureCredential


def find_credential(account: str, endpoint: str | None) -> "AzureCredential":
    """Return the credential for an account: from the variables, the emulator's own, else the default chain.

    Opens no connection: that the chain finds nothing is an error of the first request.
    """
    environ = read_environment()
    if key := environ.get(KEY_VARIABLE):
        return AzureNamedKeyCredential(account, key)
    if token := environ.get(SAS_VARIABLE):
        return AzureSasCredential(token)
    if account == EMULATOR_ACCOUNT and endpoint is not None and endpoint.startswith("http://"):
        return AzureNamedKeyCredential(account, _EMULATOR_KEY)
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

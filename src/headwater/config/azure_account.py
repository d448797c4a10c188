"""Addresses of Azure's storage accounts, and whose credentials access them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

KEY_VARIABLE = "AZURE_STORAGE_KEY"
SAS_VARIABLE = "AZURE_STORAGE_SAS_TOKEN"
"""Variables that Azure's own command reads, too."""
EMULATOR_ACCOUNT = "devstoreaccount1"
EMULATOR_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Published: every emulator has this account.

https://learn.microsoft.com/azure/storage/common/storage-use-azurite#well-known-storage-account-and-key
"""

AZURE_SCHEMES = ("abfss://", "abfs://")
# How the message of Azure's default chain lists what it tried, and what it says of a way that is not set up.
_CHAIN = "Attempted credentials:"
_ABSENT = re.compile(r"unavailable|not found|not installed|could not be found|requires the")
_CLOUD = "core.windows.net"
_SERVICE_PRINCIPAL = ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET")
_FEDERATED = "AZURE_FEDERATED_TOKEN_FILE"

AzureAccess = Literal[
    "emulator", "key", "shared_access_signature", "service_principal", "workload_identity", "managed_identity"
]


@dataclass(frozen=True, slots=True)
class AzureAddress:
    """The container and host in `abfss://CONTAINER@HOST/PATH`, and the account in the host's name."""

    container: str
    host: str

    @property
    def account(self) -> str:
        """Return the storage account."""
        return self.host.partition(".")[0]


def parse_azure_address(url: str) -> AzureAddress | None:
    """Parse the address of a folder in a container; None for any other text."""
    container, separator, host = urlsplit(url).netloc.partition("@")
    if not url.startswith(AZURE_SCHEMES) or not (container and separator and ".dfs." in host):
        return None
    return AzureAddress(container, host)


def find_dfs_host(account: str, blob_endpoint: str | None) -> str:
    """Return the account's host for Data Lake Storage; that of another cloud follows its blob endpoint."""
    host = urlsplit(blob_endpoint or "").netloc
    start = f"{account}.blob."
    return f"{account}.dfs.{host.removeprefix(start) if host.startswith(start) else _CLOUD}"


def choose_azure_access(account: str, endpoint: str | None, environ: Mapping[str, str]) -> AzureAccess:
    """Return whose credentials access an account. Opens no connection.

    Without variables it is the identity of the machine; only Azure's own clients also find `az login`.
    """
    if environ.get(KEY_VARIABLE):
        return "key"
    if environ.get(SAS_VARIABLE):
        return "shared_access_signature"
    if account == EMULATOR_ACCOUNT and endpoint is not None and endpoint.startswith("http://"):
        return "emulator"
    if all(environ.get(name) for name in _SERVICE_PRINCIPAL):
        return "service_principal"
    return "workload_identity" if environ.get(_FEDERATED) else "managed_identity"


def describe_azure_chain(text: str) -> str:
    """Return which credentials an error of Azure's default chain refused, and why; empty for another text.

    Those that are not set up are not of interest.
    """
    if _CHAIN not in text:
        return ""
    tried = [line.strip() for line in text.partition(_CHAIN)[2].splitlines() if line.startswith("\t")]
    refused = [line for line in tried if not _ABSENT.search(line)]
    return "; ".join(refused) or "Azure's default chain found none"

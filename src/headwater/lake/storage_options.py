"""Builds access options for readers without a JVM on lakes in object stores, with default credentials."""

import logging
from functools import lru_cache
from typing import TYPE_CHECKING

from headwater.config.azure_account import (
    EMULATOR_KEY,
    KEY_VARIABLE,
    SAS_VARIABLE,
    AzureAddress,
    choose_azure_access,
    describe_azure_chain,
    parse_azure_address,
)
from headwater.config.environment import read_environment
from headwater.config.extras.packages import importing_extra
from headwater.config.lake_storage import LakeStorageConfig
from headwater.errors import CredentialsError

if TYPE_CHECKING:
    from azure.identity import DefaultAzureCredential

_S3_SCHEMES = ("s3://", "s3a://")
_GCS_SCHEME = "gs://"
_AZURE_SCOPE = "https://storage.azure.com/.default"
_DEFAULT_REGION = "us-east-1"


def build_storage_options(lake: str, store: LakeStorageConfig) -> dict[str, str]:
    """Return options of the `object_store` crate, which hudi-rs uses; empty for any other lake.

    Those of S3 and Azure contain a snapshot of the credentials: a reader that outlives a role's session or a
    token needs new ones. Those of Cloud Storage contain none, because the crate gets tokens itself.
    Raises `CredentialsError` if Azure's default chain finds none.
    """
    if lake.startswith(_S3_SCHEMES):
        return _build_s3_options(store)
    if lake.startswith(_GCS_SCHEME):
        return _build_gcs_options(store)
    return _build_azure_options(address, store) if (address := parse_azure_address(lake)) else {}


def _build_s3_options(store: LakeStorageConfig) -> dict[str, str]:
    """Use boto3's credential chain; without credentials, requests are unsigned, for public buckets."""
    import boto3

    session = boto3.Session()
    path_style = bool(store.endpoint) if store.path_style is None else store.path_style
    options = {
        "aws_region": store.region or session.region_name or _DEFAULT_REGION,
        "aws_virtual_hosted_style_request": str(not path_style).lower(),
    }
    if store.endpoint:
        options["aws_endpoint"] = store.endpoint
        options["aws_allow_http"] = str(store.endpoint.startswith("http://")).lower()
    credentials = session.get_credentials()
    if credentials is None:
        return options | {"aws_skip_signature": "true"}
    frozen = credentials.get_frozen_credentials()
    options["aws_access_key_id"] = frozen.access_key or ""
    options["aws_secret_access_key"] = frozen.secret_key or ""
    if frozen.token:
        options["aws_session_token"] = frozen.token
    return options


def _build_gcs_options(store: LakeStorageConfig) -> dict[str, str]:
    """Name the file of credentials, if any: the crate itself finds gcloud's login and the machine's."""
    options = {"google_base_url": store.endpoint} if store.endpoint else {}
    if store.endpoint and store.endpoint.startswith("http://"):
        return options | {"google_skip_signature": "true", "google_allow_http": "true"}
    file = read_environment().get("GOOGLE_APPLICATION_CREDENTIALS")
    return options | {"google_application_credentials": file} if file else options


def _build_azure_options(address: AzureAddress, store: LakeStorageConfig) -> dict[str, str]:
    """Use the key or signature in the environment, else a token of Azure's default chain."""
    environ = read_environment()
    options = {"azure_storage_account_name": address.account}
    if endpoint := store.endpoint or _find_azure_endpoint(address):
        options["azure_endpoint"] = endpoint
        options["azure_allow_http"] = str(endpoint.startswith("http://")).lower()
    access = choose_azure_access(address.account, store.endpoint, environ)
    if access in ("key", "emulator"):
        return options | {"azure_storage_account_key": environ.get(KEY_VARIABLE) or EMULATOR_KEY}
    if access == "shared_access_signature":
        return options | {"azure_storage_sas_key": environ[SAS_VARIABLE]}
    return options | {"azure_storage_token": _find_azure_token(address)}


def _find_azure_endpoint(address: AzureAddress) -> str | None:
    """Return the blob endpoint of another cloud; None for the public one."""
    blob_host = address.host.replace(".dfs.", ".blob.", 1)
    return None if blob_host.endswith(".core.windows.net") else f"https://{blob_host}"


def _find_azure_token(address: AzureAddress) -> str:
    with importing_extra("azure", f"the lake in account {address.account}"):
        from azure.core.exceptions import ClientAuthenticationError

        chain = _open_azure_chain()
    try:
        return str(chain.get_token(_AZURE_SCOPE).token)
    except ClientAuthenticationError as error:
        raise CredentialsError(
            f"no usable credentials for the lake in account {address.account}: "
            f"{describe_azure_chain(error.message) or error.message}",
            hint=f"set {KEY_VARIABLE}, run `az login`, or use a managed identity",
        ) from error


@lru_cache(maxsize=1)
def _open_azure_chain() -> "DefaultAzureCredential":
    """Return the chain of this process, which renews its tokens."""
    from azure.identity import DefaultAzureCredential

    # It would also log what the error contains.
    logging.getLogger("azure.identity").setLevel(logging.ERROR)
    return DefaultAzureCredential()

"""Settings of Hadoop's driver for Azure: which account with whose credentials, at which endpoint."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from headwater.config.azure_account import (
    EMULATOR_KEY,
    KEY_VARIABLE,
    AzureAccess,
    choose_azure_access,
    parse_azure_address,
)
from headwater.config.settings import Settings
from headwater.errors import CredentialsError

_PREFIX = "spark.hadoop.fs"
_DRIVER = "org.apache.hadoop.fs.azurebfs"
_TOKENS = f"{_DRIVER}.oauth2"
_UNSUPPORTED: Mapping[AzureAccess, str] = {
    "shared_access_signature": "a shared access signature (AZURE_STORAGE_SAS_TOKEN)",
    "workload_identity": "a workload identity (AZURE_FEDERATED_TOKEN_FILE)",
}


def build_azure_settings(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the driver's settings for the lake's account, and those of sources that Spark reads.

    Accounts whose credentials the driver does not support have none. No setting contains a secret: Hadoop
    replaces `${env.NAME}` by the variable, in each process.
    """
    built: dict[str, str] = {}
    for host, endpoint in _list_accounts(settings):
        built |= _build_endpoint(endpoint)
        access = choose_azure_access(host.partition(".")[0], endpoint, environ)
        if access not in _UNSUPPORTED:
            built |= {
                f"{_PREFIX}.azure.{name}.{host}": value for name, value in _iter_access(access, environ)
            }
    if built:
        # Without the native library of the default mode, which is another jar.
        built[f"{_PREFIX}.azure.ssl.channel.mode"] = "Default_JSSE_with_GCM"
    return built


def ensure_azure_credentials(settings: Settings, environ: Mapping[str, str]) -> None:
    """Raise `CredentialsError` if Spark cannot write the lake with the credentials of this process."""
    address = parse_azure_address(settings.lake)
    if address is None:
        return
    access = choose_azure_access(address.account, settings.lake_storage.endpoint, environ)
    if access in _UNSUPPORTED:
        raise CredentialsError(
            f"Spark cannot write the lake {settings.lake}: Hadoop's driver for Azure does not support "
            f"{_UNSUPPORTED[access]}",
            hint="set AZURE_STORAGE_KEY, or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET of a "
            "service principal, or use the managed identity of the machine",
        )


def _list_accounts(settings: Settings) -> Iterator[tuple[str, str | None]]:
    """Yield host and endpoint of each account."""
    if address := parse_azure_address(settings.lake):
        yield address.host, settings.lake_storage.endpoint
    for source in settings.sources:
        if source.type == "azure" and source.file_system_scheme:
            yield source.dfs_host, source.dfs_endpoint


def _build_endpoint(endpoint: str | None) -> dict[str, str]:
    """Return where the driver sends requests. It has one endpoint for all accounts."""
    # Hadoop lists its file systems before Spark adds jars.
    kind = "SecureAzureBlobFileSystem"
    if endpoint is None:
        return {f"{_PREFIX}.abfss.impl": f"{_DRIVER}.{kind}"}
    parts = urlsplit(endpoint)
    if parts.scheme == "http":
        kind = "AzureBlobFileSystem"
    return {
        f"{_PREFIX}.abfss.impl": f"{_DRIVER}.{kind}",
        f"{_PREFIX}.azure.always.use.https": str(parts.scheme == "https").lower(),
        f"{_PREFIX}.azure.abfs.endpoint": parts.netloc,
    }


def _iter_access(access: AzureAccess, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if access in ("key", "emulator"):
        yield "account.auth.type", "SharedKey"
        yield "account.key", _refer(KEY_VARIABLE) if access == "key" else EMULATOR_KEY
        return
    yield "account.auth.type", "OAuth"
    if access == "service_principal":
        tenant = environ["AZURE_TENANT_ID"]
        authority = environ.get("AZURE_AUTHORITY_HOST") or "https://login.microsoftonline.com"
        yield "account.oauth.provider.type", f"{_TOKENS}.ClientCredsTokenProvider"
        yield "account.oauth2.client.endpoint", f"{authority.rstrip('/')}/{tenant}/oauth2/v2.0/token"
        yield "account.oauth2.client.id", environ["AZURE_CLIENT_ID"]
        yield "account.oauth2.client.secret", _refer("AZURE_CLIENT_SECRET")
        return
    yield "account.oauth.provider.type", f"{_TOKENS}.MsiTokenProvider"
    if client := environ.get("AZURE_CLIENT_ID"):
        yield "account.oauth2.client.id", client


def _refer(variable: str) -> str:
    return f"${{env.{variable}}}"

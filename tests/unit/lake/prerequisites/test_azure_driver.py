"""How Hadoop's driver for Azure gets accounts, credentials and endpoints."""

from collections.abc import Mapping
from typing import Any

import pytest

from headwater.config.settings import Settings
from headwater.errors import CredentialsError
from headwater.lake.prerequisites.azure_driver import build_azure_settings, ensure_azure_credentials
from headwater.lake.prerequisites.packages import AZURE_PACKAGE
from headwater.lake.prerequisites.spark_settings import build_spark_settings

HOST = "acmelake.dfs.core.windows.net"
LAKE = f"abfss://lake@{HOST}/bronze"
SECRETS = {
    "AZURE_STORAGE_KEY": "the key",
    "AZURE_TENANT_ID": "tenant",
    "AZURE_CLIENT_ID": "client",
    "AZURE_CLIENT_SECRET": "the secret",
}
PRINCIPAL = {name: SECRETS[name] for name in ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET")}


def build(lake: str = LAKE, source: Mapping[str, Any] | None = None, **sections: Any) -> Settings:
    source = source or {"type": "local", "path": "in"}
    return Settings.model_validate(
        {"source": source, "lake": lake, "tables": {"t": {"path": "*.json"}}, **sections}
    )


def find(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    built = build_azure_settings(settings, environ)
    return {name.removeprefix("spark.hadoop.fs."): value for name, value in built.items()}


def test_a_key_is_named_not_contained() -> None:
    found = find(build(), SECRETS)
    assert found[f"azure.account.auth.type.{HOST}"] == "SharedKey"
    assert found[f"azure.account.key.{HOST}"] == "${env.AZURE_STORAGE_KEY}"
    assert "the key" not in str(found)


def test_a_service_principal_gets_tokens_from_its_tenant() -> None:
    found = find(build(), PRINCIPAL)
    assert found[f"azure.account.auth.type.{HOST}"] == "OAuth"
    assert found[f"azure.account.oauth.provider.type.{HOST}"].endswith("ClientCredsTokenProvider")
    assert found[f"azure.account.oauth2.client.id.{HOST}"] == "client"
    assert found[f"azure.account.oauth2.client.secret.{HOST}"] == "${env.AZURE_CLIENT_SECRET}"
    endpoint = f"azure.account.oauth2.client.endpoint.{HOST}"
    assert found[endpoint] == "https://login.microsoftonline.com/tenant/oauth2/v2.0/token"
    china = find(build(), {**PRINCIPAL, "AZURE_AUTHORITY_HOST": "https://login.chinacloudapi.cn/"})
    assert china[endpoint] == "https://login.chinacloudapi.cn/tenant/oauth2/v2.0/token"


def test_without_variables_the_identity_of_the_machine_is_used() -> None:
    found = find(build(), {})
    assert found[f"azure.account.oauth.provider.type.{HOST}"].endswith("MsiTokenProvider")
    assert f"azure.account.oauth2.client.id.{HOST}" not in found
    assigned = find(build(), {"AZURE_CLIENT_ID": "client"})
    assert assigned[f"azure.account.oauth2.client.id.{HOST}"] == "client"


def test_only_an_emulator_without_tls_is_reached_without_it() -> None:
    assert find(build(), {})["abfss.impl"].endswith(".SecureAzureBlobFileSystem")
    assert "azure.abfs.endpoint" not in find(build(), {})
    store = {"endpoint": "http://127.0.0.1:10000/acmelake"}
    found = find(build(lake_storage=store), {})
    assert found["abfss.impl"].endswith(".AzureBlobFileSystem")
    assert found["azure.always.use.https"] == "false"
    assert found["azure.abfs.endpoint"] == "127.0.0.1:10000"


def test_accounts_of_sources_are_given_only_if_spark_reads_them() -> None:
    source = {"type": "azure", "account": "landing", "container": "c", "queue": {"name": "events"}}
    assert find(build("/lake", source), SECRETS) == {}
    assert AZURE_PACKAGE not in build_spark_settings(build("/lake", source))["spark.jars.packages"]
    read = build(source=source | {"file_system_scheme": "abfss"})
    assert "azure.account.key.landing.dfs.core.windows.net" in find(read, SECRETS)
    assert f"azure.account.key.{HOST}" in find(read, SECRETS)
    assert AZURE_PACKAGE in build_spark_settings(read)["spark.jars.packages"]


@pytest.mark.parametrize(
    ("environ", "what"),
    [
        ({"AZURE_STORAGE_SAS_TOKEN": "sig=x"}, "a shared access signature"),
        ({"AZURE_FEDERATED_TOKEN_FILE": "/token", "AZURE_CLIENT_ID": "c"}, "a workload identity"),
    ],
)
def test_what_the_driver_does_not_support_is_named(environ: Mapping[str, str], what: str) -> None:
    with pytest.raises(CredentialsError, match=what) as raised:
        ensure_azure_credentials(build(), environ)
    assert "AZURE_STORAGE_KEY" in raised.value.hint
    assert not any(".account." in name for name in find(build(), environ))
    ensure_azure_credentials(build("/lake"), environ)
    ensure_azure_credentials(build(), PRINCIPAL)

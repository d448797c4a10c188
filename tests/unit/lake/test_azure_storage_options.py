"""Options of readers without a JVM for a lake in Azure."""

from typing import Any

import pytest
from pyarrow import fs

from headwater.config.lake_storage import LakeStorageConfig
from headwater.errors import CredentialsError, UsageError
from headwater.lake import storage_options
from headwater.lake.file_store import FileStore
from headwater.lake.storage_options import build_storage_options
from headwater.lake.table_files import open_file_system

LAKE = "abfss://lake@acmelake.dfs.core.windows.net/bronze"
ACCOUNT = {"azure_storage_account_name": "acmelake"}
VARIABLES = ("AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_SECRET")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("variable", "option"),
    [
        ("AZURE_STORAGE_KEY", "azure_storage_account_key"),
        ("AZURE_STORAGE_SAS_TOKEN", "azure_storage_sas_key"),
    ],
)
def test_a_secret_of_the_environment_is_passed_on(
    monkeypatch: pytest.MonkeyPatch, variable: str, option: str
) -> None:
    monkeypatch.setenv(variable, "c2VjcmV0")
    assert build_storage_options(LAKE, LakeStorageConfig()) == ACCOUNT | {option: "c2VjcmV0"}


def test_an_emulator_is_reached_at_its_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_KEY", "c2VjcmV0")
    endpoint = "http://127.0.0.1:10000/acmelake"
    options = build_storage_options(LAKE, LakeStorageConfig(endpoint=endpoint))
    assert (options["azure_endpoint"], options["azure_allow_http"]) == (endpoint, "true")


def test_another_cloud_is_reached_at_its_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_KEY", "c2VjcmV0")
    lake = LAKE.replace("windows.net", "chinacloudapi.cn")
    options = build_storage_options(lake, LakeStorageConfig())
    assert options["azure_endpoint"] == "https://acmelake.blob.core.chinacloudapi.cn"
    given: dict[str, Any] = {}
    monkeypatch.setattr(fs, "AzureFileSystem", lambda **keys: given.update(keys))
    assert open_file_system(lake, options)[1] == "lake/bronze"
    assert given["blob_storage_authority"] == ".blob.core.chinacloudapi.cn"
    assert given["dfs_storage_authority"] == ".dfs.core.chinacloudapi.cn"


def test_an_address_without_an_account_is_rejected() -> None:
    with pytest.raises(UsageError, match="it names no account: abfss://CONTAINER@ACCOUNT"):
        FileStore("abfss://lake/bronze", dict).list_files()


def test_without_variables_azures_default_chain_gives_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("azure.identity")
    from azure.core.credentials import AccessToken
    from azure.identity import DefaultAzureCredential

    storage_options._open_azure_chain.cache_clear()
    monkeypatch.setattr(DefaultAzureCredential, "get_token", lambda *_, **__: AccessToken("a token", 0))
    assert build_storage_options(LAKE, LakeStorageConfig()) == ACCOUNT | {"azure_storage_token": "a token"}


def test_missing_credentials_are_an_error_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("azure.identity")
    from azure.core.exceptions import ClientAuthenticationError
    from azure.identity import DefaultAzureCredential

    def refuse(*_: object, **__: object) -> None:
        raise ClientAuthenticationError("nothing found")

    monkeypatch.setattr(DefaultAzureCredential, "get_token", refuse)
    with pytest.raises(
        CredentialsError, match="no usable credentials for the lake in account acmelake"
    ) as raised:
        build_storage_options(LAKE, LakeStorageConfig())
    assert "AZURE_STORAGE_KEY" in raised.value.hint

"""A lake in Azure: its address, its endpoint, and whose credentials reach it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.config.azure_account import choose_azure_access, find_dfs_host, parse_azure_address
from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError

LAKE = "abfss://lake@acmelake.dfs.core.windows.net/bronze"
EMULATOR = "http://127.0.0.1:10000/acmelake"


def build(lake: str = LAKE, **sections: Any) -> Settings:
    data = {"source": {"type": "local", "path": "in"}, "lake": lake, "tables": {"t": {"path": "*.json"}}}
    return parse_settings(yaml.safe_dump(data | sections), Path("headwater.yaml"), {})


def build_source(account: str = "acmelake", **keys: Any) -> dict[str, Any]:
    queue = {"name": "events"}
    names = {"type": "azure", "account": account, "container": "landing", "file_system_scheme": "abfss"}
    return {**names, "queue": queue, **keys}


def test_an_address_names_container_and_account() -> None:
    address = parse_azure_address(build().lake)
    assert address is not None
    assert (address.container, address.account, address.host) == (
        "lake",
        "acmelake",
        "acmelake.dfs.core.windows.net",
    )


@pytest.mark.parametrize(
    ("lake", "sections", "message"),
    [
        (
            "abfss://lake/bronze",
            {},
            "lake: 'abfss://lake/bronze' names no container and account; write abfss://",
        ),
        ("abfss://lake@acmelake.blob.core.windows.net/b", {}, "names no container and account"),
        (
            LAKE,
            {"lake_storage": {"region": "westeurope"}},
            "lake_storage.region: applies only to a lake at s3a",
        ),
        (
            LAKE,
            {"lake_storage": {"endpoint": "https://acmelake.dfs.core.chinacloudapi.cn"}},
            "lake_storage.endpoint: 'https://acmelake.dfs.core.chinacloudapi.cn' is not that of an emulator",
        ),
        (
            LAKE,
            {"source": build_source(endpoint=EMULATOR)},
            f"source.endpoint: '{EMULATOR}' differs from `lake_storage.endpoint`, and Spark has one endpoint",
        ),
        (
            "/lake",
            {
                "source": [
                    build_source(name="one"),
                    build_source(
                        "other", name="two", container="other", endpoint="http://127.0.0.1:10000/other"
                    ),
                ]
            },
            "source[1].endpoint: 'http://127.0.0.1:10000/other' differs from that of source 'one'",
        ),
        (LAKE, {"lock": {"provider": "storage"}}, "lock.provider: 'storage' supports only lakes at s3://"),
    ],
)
def test_what_cannot_be_reached_is_rejected(lake: str, sections: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        build(lake, **sections)
    assert message in str(raised.value)


def test_two_accounts_of_azure_need_no_endpoint() -> None:
    build(source=build_source("other"))
    china = build_source("other", endpoint="https://other.blob.core.chinacloudapi.cn")
    build(source=china)


def test_the_host_of_another_cloud_follows_its_endpoint() -> None:
    assert find_dfs_host("acme", None) == "acme.dfs.core.windows.net"
    assert (
        find_dfs_host("acme", "https://acme.blob.core.chinacloudapi.cn") == "acme.dfs.core.chinacloudapi.cn"
    )
    assert find_dfs_host("acme", "http://127.0.0.1:10000/acme") == "acme.dfs.core.windows.net"


PRINCIPAL = {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "s"}


@pytest.mark.parametrize(
    ("environ", "access"),
    [
        ({}, "managed_identity"),
        ({"AZURE_CLIENT_ID": "c"}, "managed_identity"),
        (PRINCIPAL, "service_principal"),
        ({"AZURE_FEDERATED_TOKEN_FILE": "f", "AZURE_CLIENT_ID": "c"}, "workload_identity"),
        ({"AZURE_STORAGE_SAS_TOKEN": "s", **PRINCIPAL}, "shared_access_signature"),
        ({"AZURE_STORAGE_KEY": "k", "AZURE_STORAGE_SAS_TOKEN": "s", **PRINCIPAL}, "key"),
    ],
)
def test_the_key_comes_first_and_the_identity_of_the_machine_last(
    environ: Mapping[str, str], access: str
) -> None:
    assert choose_azure_access("acmelake", None, environ) == access


def test_only_an_emulator_without_tls_gets_its_published_key() -> None:
    account = "devstoreaccount1"
    assert choose_azure_access(account, f"http://127.0.0.1:10000/{account}", {}) == "emulator"
    assert choose_azure_access(account, None, {}) == "managed_identity"

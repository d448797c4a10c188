"""`source: {type: azure}`: what may be combined, and what is said of the rest."""

from pathlib import Path

import pytest

from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.config.source import AzureSourceConfig
from headwater.errors import ConfigError

PATH = Path("/nowhere/headwater.yaml")
REST = "\ntables: {t: {path: '*.json'}}\n"
QUEUE = "queue: {name: landing-events}"


def parse(options: str = QUEUE, *, account: str = "acmelake", installed: bool = True) -> Settings:
    source = f"source: {{type: azure, account: {account}, container: landing, {options}}}\nlake: /data/lake"
    return parse_settings(source + REST, PATH, environ={}, installed=lambda _: installed)


def find_problem(options: str = QUEUE, *, account: str = "acmelake") -> str:
    with pytest.raises(ConfigError) as caught:
        parse(options, account=account)
    return caught.value.message


def test_account_container_and_queue_suffice() -> None:
    source = parse(f"{QUEUE}, prefix: in/").sources[0]
    assert isinstance(source, AzureSourceConfig)
    assert source.address == "abfss://landing@acmelake.dfs.core.windows.net/in/"
    assert source.notified_by == {"notifications": "eventgrid", "queue": "landing-events"}
    assert source.location == source.known_location == "landing"


def test_a_queue_is_required() -> None:
    assert "source.queue" in find_problem("prefix: in/")


@pytest.mark.parametrize("name", ["Landing", "a", "a--b", "-ab", "ab-", "https://x/y"])
def test_other_names_than_those_of_queues_are_rejected(name: str) -> None:
    assert "source.queue.name" in find_problem(f"queue: {{name: {name!r}}}")


@pytest.mark.parametrize("account", ["Acme", "ab", "acme.blob.core.windows.net"])
def test_other_names_than_those_of_accounts_are_rejected(account: str) -> None:
    assert "source.account" in find_problem(account=account)


@pytest.mark.parametrize(
    "endpoint", ["https://acmelake.blob.core.chinacloudapi.cn", "http://127.0.0.1:10000/devstoreaccount1"]
)
def test_other_clouds_and_emulators_have_endpoints(endpoint: str) -> None:
    source = parse(f"{QUEUE}, endpoint: '{endpoint}'").sources[0]
    assert isinstance(source, AzureSourceConfig)
    assert source.endpoint == endpoint


def test_an_address_is_no_container() -> None:
    source = (
        f"source: {{type: azure, account: acmelake, container: 'abfs://landing/in', {QUEUE}}}\nlake: lake"
    )
    with pytest.raises(ConfigError, match="landing"):
        parse_settings(source + REST, PATH, environ={}, installed=lambda _: True)


def test_blobs_move_to_another_container_of_the_account() -> None:
    moving = f"{QUEUE}, clean_source: move, clean_source_move_to: "
    source = parse(f"{moving} 'abfs://archive/old'").sources[0]
    assert isinstance(source, AzureSourceConfig)
    assert source.clean_source_target == "archive/old/"
    assert "inside the source" in find_problem(f"{moving} 'abfs://landing/old'")
    assert "clean_source_move_to" in find_problem(f"{moving} 'abfss://archive@other.dfs.core.windows.net/'")


def test_the_extra_is_named_when_it_is_missing() -> None:
    with pytest.raises(ConfigError) as caught:
        parse(installed=False)
    assert "headwater[azure]" in f"{caught.value.message} {caught.value.hint}"

"""The `observability` section: addresses that can be listened on, and what is said of others."""

from pathlib import Path

import pytest

from headwater.config.listen_address import ListenAddress, parse_listen_address
from headwater.config.loader import parse_settings
from headwater.errors import ConfigError

BASE = "source: {type: local, path: landing}\nlake: lake\ntables: {t: {path: '*.json'}}\n"


def test_nothing_is_served_by_default() -> None:
    assert parse_settings(BASE, Path("/shop/headwater.yaml"), {}).observability.listen is None


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:9108", "127.0.0.1", 9108),
        ("0.0.0.0:1", "0.0.0.0", 1),
        ("localhost:65535", "localhost", 65535),
        ("[::]:9108", "::", 9108),
        ("[fe80::1]:80", "fe80::1", 80),
    ],
)
def test_addresses_have_a_host_and_a_port(text: str, host: str, port: int) -> None:
    found = parse_listen_address(text)
    assert found == ListenAddress(host, port)
    assert str(found) == text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("'9108'", "'9108' has no host; write, for example, 127.0.0.1:9108"),
        ("':9108'", "':9108' has no host"),
        ("'127.0.0.1:'", "has the port ''; allowed: 1 to 65535"),
        ("'127.0.0.1:0'", "has the port '0'; allowed: 1 to 65535"),
        ("'127.0.0.1:65536'", "has the port '65536'"),
        ("'127.0.0.1:http'", "has the port 'http'"),
        ("'http://127.0.0.1:9108'", "is a URL or a path; write host and port"),
        ("'::1:9108'", "an IPv6 address needs brackets; write [::1]:9108"),
        ("'[]:9108'", "has no valid host"),
        ("'my host:9108'", "has no valid host"),
        ("9108", "9108"),
    ],
)
def test_invalid_addresses_are_reported_before_start(given: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_settings(BASE + f"observability: {{listen: {given}}}", Path("/shop/headwater.yaml"), {})
    (line,) = raised.value.message.splitlines()
    assert " observability.listen: " in line
    assert said in line


def test_a_log_file_is_relative_to_the_configuration() -> None:
    found = parse_settings(
        BASE + "observability: {log_file: logs/h.log, log_max_bytes: 1MiB, log_backups: 3}",
        Path("/shop/headwater.yaml"),
        {},
    ).observability
    assert (found.log_file, int(found.log_max_bytes), found.log_backups) == (
        Path("/shop/logs/h.log"),
        1_048_576,
        3,
    )


@pytest.mark.parametrize(
    ("given", "key", "said"),
    [
        (
            "{log_file: h.log, log_max_bytes: 10}",
            "log_max_bytes",
            "10 bytes are too few. Allowed: 64KiB or more",
        ),
        ("{log_file: h.log, log_backups: 0}", "log_backups", "1"),
        ("{log_file: landing/h.log}", "log_file", "is inside the source folder"),
        ("{log_file: lake/h.log}", "log_file", "is inside the lake"),
    ],
)
def test_invalid_log_files_are_reported(given: str, key: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_settings(BASE + f"observability: {given}", Path("/shop/headwater.yaml"), {})
    (line,) = raised.value.message.splitlines()
    assert f" observability.{key}: " in line
    assert said in line

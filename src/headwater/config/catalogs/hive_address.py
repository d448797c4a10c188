"""Hive's address: its metastore over Thrift, or HiveServer2 with a JDBC URL."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

METASTORE_EXAMPLE = "thrift://metastore:9083"
SERVER_EXAMPLE = "jdbc:hive2://hiveserver:10000"
_SERVER_PREFIX = "jdbc:hive2://"
_SERVER_PORT = 10_000
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "auth": ("noSasl",),
    "ssl": ("true", "false"),
    "transportMode": ("binary", "http"),
    "httpPath": (),
}
"""Parameters of the URL, and their values; empty where any value is allowed."""


@dataclass(frozen=True, slots=True)
class HiveAddress:
    """`is_server`: HiveServer2, else the metastore; the other fields are HiveServer2's. `is_plain`: no
    authentication and no SASL. `http_path` is empty without HTTP transport."""

    host: str
    port: int
    is_server: bool = False
    is_plain: bool = False
    is_encrypted: bool = False
    http_path: str = ""


def parse_hive_address(text: str) -> HiveAddress:
    """Parse the address. Raises `ValueError` with the reason."""
    if text.startswith(_SERVER_PREFIX):
        return _parse_server(text)
    parts = urlsplit(text)
    if parts.scheme != "thrift" or not parts.hostname or parts.port is None:
        raise ValueError(f"{text!r} is not a valid address")
    return HiveAddress(parts.hostname, parts.port)


def _parse_server(text: str) -> HiveAddress:
    location, *parameters = text.removeprefix("jdbc:").split(";")
    given = dict(_parse_parameter(parameter) for parameter in parameters if parameter)
    if "," in location:
        raise ValueError("the address names several servers; specify one, or their load balancer")
    parts = urlsplit(location)
    if not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{text!r} is not a valid address")
    is_http = given.get("transportMode") == "http"
    return HiveAddress(
        parts.hostname,
        parts.port or _SERVER_PORT,
        is_server=True,
        is_plain="auth" in given,
        is_encrypted=given.get("ssl") == "true",
        http_path=given.get("httpPath", "cliservice") if is_http else "",
    )


def _parse_parameter(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if name not in _ALLOWED:
        raise ValueError(f"unknown parameter {name!r}. Allowed: {', '.join(_ALLOWED)}")
    if not value or (_ALLOWED[name] and value not in _ALLOWED[name]):
        allowed = " or ".join(_ALLOWED[name]) or "a path"
        raise ValueError(f"parameter {name!r} is {value!r}. Allowed: {allowed}")
    return name, value

"""Parses `host:port`, the address of a server."""

from dataclasses import dataclass

_EXAMPLES = (
    "127.0.0.1:9108 (this machine), 0.0.0.0:9108 (every IPv4 interface) or [::]:9108 (every interface)"
)
_MAX_PORT = 65_535


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """A host name or address, without brackets, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_listen_address(text: str) -> ListenAddress:
    """Parse `host:port` or `[IPv6]:port`. Raises `ValueError` with what is allowed."""
    host, colon, port = text.strip().rpartition(":")
    if "/" in text:
        raise ValueError(f"{text!r} is a URL or a path; write host and port, such as {_EXAMPLES}")
    if not colon or not host:
        raise ValueError(f"{text!r} has no host; write, for example, {_EXAMPLES}")
    if not (port.isascii() and port.isdecimal() and 1 <= int(port) <= _MAX_PORT):
        raise ValueError(f"{text!r} has the port {port!r}; allowed: 1 to {_MAX_PORT}")
    is_bracketed = host.startswith("[") and host.endswith("]")
    if ":" in host and not is_bracketed:
        raise ValueError(f"{text!r}: an IPv6 address needs brackets; write [{host}]:{port}")
    if not host.strip("[]") or any(character.isspace() for character in host):
        raise ValueError(f"{text!r} has no valid host; write, for example, {_EXAMPLES}")
    return ListenAddress(host[1:-1] if is_bracketed else host, int(port))


def check_listen_address(text: str) -> str:
    """Return the address unchanged. Raises `ValueError` as `parse_listen_address` does."""
    parse_listen_address(text)
    return text

"""Signed requests to AWS and compatible services with libcurl, for the calls that a run makes all the time.

Such a call takes a twentieth of the CPU that it takes through boto3, and libcurl releases the interpreter
lock while it signs, sends and waits. boto3 finds credentials, region and endpoint, and makes
every other call: docs/decisions/0029-libcurl.md.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

import botocore.session
import pycurl
from botocore.exceptions import HTTPClientError, NoCredentialsError
from botocore.httpsession import get_cert_path

from headwater.version import __version__

if TYPE_CHECKING:
    from botocore.credentials import Credentials

USER_AGENT = f"headwater/{__version__} libcurl/{pycurl.version_info()[1]}"
"""Names headwater in the logs of the service."""

_KEEP_ALIVE_SECONDS = 60
_UNUSED_SECONDS = 60


class NoAnswerError(HTTPClientError):
    """No complete response arrived: libcurl's message is the text. As retryable as botocore's own errors."""

    fmt = "{error}"


class HttpAnswer(NamedTuple):
    """A response, of whatever status. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class SignedHttp:
    """Signs for one service in one region (Signature Version 4). Thread-safe.

    Keeps as many connections as there were requests at a time, uses the warmest first, and closes those that
    were not used for a minute. Credentials are asked for with each request, so that those of a role are
    renewed. Proxies come from the environment, and the certificates from where boto3 takes them.
    """

    def __init__(
        self,
        session: botocore.session.Session,
        service: str,
        region: str,
        *,
        connect_seconds: float = 5,
        silent_seconds: float = 30,
    ) -> None:
        """Open no connection yet. A response that pauses for `silent_seconds` has failed."""
        self._credentials: Credentials | None = session.get_credentials()
        self._scope = f"aws:amz:{region}:{service}"
        self._certificates: str = session.get_config_variable("ca_bundle") or str(get_cert_path(True))
        self._connect_milliseconds = int(1000 * connect_seconds)
        self._silent_seconds = max(1, round(silent_seconds))
        # A handle holds its connection. With the time of its last use; the latest is the last. Appending to a
        # list and popping from it are atomic.
        self._idle: list[tuple[float, pycurl.Curl]] = []

    def get(self, url: str, headers: Sequence[str], max_bytes: int | None = None) -> HttpAnswer:
        """Request the URL with these headers (`Name: value`).

        libcurl resolves segments `.` and `..` of a path before it signs: such a URL requests another object.

        Raises `NoAnswerError`, also for a body of more than `max_bytes`, and botocore's errors if there are
        no usable credentials.
        """
        with self._borrow() as curl:
            curl.setopt(pycurl.HTTPGET, 1)
            curl.setopt(pycurl.MAXFILESIZE_LARGE, max_bytes or 0)
            return self._send(curl, url, headers)

    def post(self, url: str, headers: Sequence[str], body: bytes) -> HttpAnswer:
        """Send `body` with these headers (`Name: value`). Raises as `get` does."""
        with self._borrow() as curl:
            curl.setopt(pycurl.POSTFIELDS, body)
            return self._send(curl, url, headers)

    @contextmanager
    def _borrow(self) -> Iterator[pycurl.Curl]:
        try:
            _, curl = self._idle.pop()
        except IndexError:
            curl = self._open()
        try:
            yield curl
        finally:
            now = time.monotonic()
            self._idle.append((now, curl))
            self._close_unused(now - _UNUSED_SECONDS)

    def _close_unused(self, since: float) -> None:
        """Close a connection that was not used since then. One at a time keeps pace with requests."""
        with suppress(IndexError):
            if self._idle[0][0] < since:
                used, curl = self._idle.pop(0)
                if used < since:
                    curl.close()
                else:  # another thread took the first one
                    self._idle.append((used, curl))

    def _send(self, curl: pycurl.Curl, url: str, headers: Sequence[str]) -> HttpAnswer:
        if self._credentials is None:
            raise NoCredentialsError
        keys = self._credentials.get_frozen_credentials()
        curl.setopt(pycurl.USERNAME, keys.access_key)
        curl.setopt(pycurl.PASSWORD, keys.secret_key)
        token = [f"X-Amz-Security-Token: {keys.token}"] if keys.token else []
        # "Expect:" so that libcurl sends large bodies without asking. pycurl would ignore an empty list, and
        # send the headers of the request before.
        curl.setopt(pycurl.HTTPHEADER, ["Expect:", *headers, *token])
        curl.setopt(pycurl.URL, url)
        lines: list[bytes] = []
        curl.setopt(pycurl.HEADERFUNCTION, lines.append)
        try:
            body = curl.perform_rb()
        except pycurl.error as error:
            raise NoAnswerError(error=curl.errstr()) from error
        return HttpAnswer(curl.getinfo(pycurl.RESPONSE_CODE), _parse_headers(lines), body)

    def _open(self) -> pycurl.Curl:
        curl = pycurl.Curl()
        curl.setopt(pycurl.NOSIGNAL, 1)  # signals are the main thread's
        curl.setopt(pycurl.AWS_SIGV4, self._scope)
        curl.setopt(pycurl.CAINFO, self._certificates)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, self._connect_milliseconds)
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
        curl.setopt(pycurl.LOW_SPEED_LIMIT, 1)
        curl.setopt(pycurl.LOW_SPEED_TIME, self._silent_seconds)
        curl.setopt(pycurl.TCP_KEEPALIVE, 1)
        curl.setopt(pycurl.TCP_KEEPIDLE, _KEEP_ALIVE_SECONDS)
        curl.setopt(pycurl.USERAGENT, USER_AGENT)
        return curl


def _parse_headers(lines: Sequence[bytes]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        name, separator, value = line.decode("latin-1").partition(":")
        if separator:
            found[name.lower()] = value.strip()
        elif name.startswith("HTTP/"):  # that of a proxy came before, or an informational one
            found.clear()
    return found

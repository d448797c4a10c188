"""HTTP servers as targets of webhooks."""

import urllib.error
import urllib.request
from collections.abc import Mapping

from headwater.app.webhooks.documents import Document
from headwater.app.webhooks.protocol import DeliveryError, is_lasting_status
from headwater.config.webhooks import HEADERS_VARIABLE, parse_headers
from headwater.errors import ConfigError


class HttpSender:
    """Posts documents to a URL, through the proxies of the environment."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        self._url = url
        self._headers = {"Content-Type": "application/json", "User-Agent": "headwater", **headers}
        self._timeout = timeout
        self._opener = urllib.request.build_opener()

    def send(self, document: Document) -> None:
        """See `Sender.send`."""
        request = urllib.request.Request(  # noqa: S310 - the configuration allows http and https only
            self._url, data=document.body, headers=self._headers, method="POST"
        )
        try:
            with self._opener.open(request, timeout=self._timeout):
                return
        except urllib.error.HTTPError as error:
            error.close()
            raise DeliveryError(
                f"the target answers with status {error.code}", is_lasting=is_lasting_status(error.code)
            ) from error
        except OSError as error:
            reason = getattr(error, "reason", None) or error
            raise DeliveryError(f"the target does not answer: {reason}", is_lasting=False) from error
        except Exception as error:
            # http.client raises errors of its own for an answer that is not HTTP.
            raise DeliveryError(f"the target's answer is not HTTP: {error!r}", is_lasting=False) from error


def ensure_headers(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the headers in the environment. Raises `ConfigError`."""
    try:
        return parse_headers(environ.get(HEADERS_VARIABLE, ""))
    except ValueError as error:
        raise ConfigError(
            f"{HEADERS_VARIABLE}: {error}",
            hint="write, for example, Authorization=Bearer%20KEY,X-Team=data; encode commas and blanks",
        ) from error

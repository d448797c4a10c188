"""Asks a running server the queries of a judged set."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection
from typing import Any
from urllib.parse import urlsplit

from headwater.config.search.keys import API_KEY_VARIABLE
from headwater.errors import SearchError, UsageError
from headwater.rag.evaluation.judged import JudgedQuery
from headwater.rag.evaluation.metrics import Run

SERVER = "server"
# The size of a result page, and the depth of recall@20.
_LIMIT = 20
_ATTEMPTS = 6
_LONGEST_PAUSE = 30.0
_REFUSED_KEY = frozenset({401, 403})
_REFUSED_QUERY = 422
_BUSY = frozenset({429, 503, 504})
_REDIRECTS = range(300, 400)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the key to another host, and turn the POST into a GET."""

    def redirect_request(self, *_args: Any, **_more: Any) -> None:
        """Follow none: the status becomes an error."""


class SearchServer:
    """Searches through `POST /search` of the server at `url`. Its methods raise `SearchError`.

    `key` is an API key; empty for a server without keys. A busy server is asked again after the pause that it
    requests, at most six times. Raises `UsageError` for an address that is not HTTP.
    """

    def __init__(
        self, url: str, key: str = "", *, timeout: float = 60, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).netloc:
            raise UsageError(
                f"{url} is not the address of a server", hint="write it as http://127.0.0.1:8080"
            )
        self._url = f"{url.rstrip('/')}/search"
        self._headers = {"Content-Type": "application/json", "User-Agent": "headwater"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._timeout = timeout
        self._sleep = sleep
        self._opener = urllib.request.build_opener(_NoRedirects)

    def search(self, query: str, limit: int = _LIMIT) -> list[str]:
        """Return the IDs of the rows found, best first; none for a query that the server rejects."""
        body = json.dumps({"query": query, "limit": limit}).encode()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return [str(hit["id"]) for hit in self._post(body)["hits"]]
            except urllib.error.HTTPError as error:
                error.close()
                if error.code == _REFUSED_QUERY:
                    return []
                if error.code not in _BUSY or attempt == _ATTEMPTS:
                    raise self._explain_status(error) from error
                self._sleep(_read_pause(error.headers.get("Retry-After", "")))
            except OSError as error:
                reason = getattr(error, "reason", None) or error
                raise SearchError(
                    f"{self._url} does not answer: {reason}", hint="start the server: `headwater serve`"
                ) from error
            except Exception as error:
                # http.client raises errors of its own, and another server answers in another form.
                raise SearchError(
                    f"{self._url} does not answer as `headwater serve` does: {error!r}",
                    hint="specify the address of `headwater serve`, with its path if a proxy adds one",
                ) from error
        raise AssertionError("the last attempt returns or raises")

    def _post(self, body: bytes) -> Any:
        request = urllib.request.Request(  # noqa: S310 - checked: http or https
            self._url, data=body, headers=self._headers, method="POST"
        )
        with self._opener.open(request, timeout=self._timeout) as response:
            return json.load(response)

    def _explain_status(self, error: urllib.error.HTTPError) -> SearchError:
        status = error.code
        if status in _REDIRECTS:
            hint = f"specify the address that it redirects to: {error.headers.get('Location', 'unknown')}"
        elif status in _REFUSED_KEY:
            hint = f"set {API_KEY_VARIABLE} to a key of the server"
        elif status in _BUSY:
            hint = "repeat the command when the server has an index and fewer requests"
        else:
            hint = "see the server's log; specify the address of `headwater serve`"
        return SearchError(f"{self._url} answers with status {status}", hint=hint)


def run_server(server: SearchServer, queries: Collection[JudgedQuery]) -> Run:
    """Return the server's results by query. Raises `SearchError`."""
    return {query.query_id: server.search(query.text) for query in queries}


def _read_pause(text: str) -> float:
    """Return the seconds of `Retry-After`; a second if it is a date or absent."""
    return min(float(text), _LONGEST_PAUSE) if text.isdecimal() else 1.0

"""Errors as problem+json (RFC 9457): a status, a code and a sentence, without stack traces and paths."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from headwater.errors import AsOfUnavailableError, HeadwaterError, IndexNotFoundError, SearchError

PROBLEM_TYPE = "application/problem+json"
RETRY_SECONDS = 2

_TITLES: Mapping[str, tuple[int, str]] = {
    "bad_json": (400, "The request body is not valid JSON."),
    "not_utf8": (400, "The request body is not valid UTF-8."),
    "host_not_allowed": (400, "The server does not answer requests for this host name."),
    "key_missing": (401, "An API key is required: `Authorization: Bearer KEY` or `X-API-Key: KEY`."),
    "key_wrong": (401, "The API key is invalid."),
    "forbidden": (403, "The API key does not permit this request."),
    "not_found": (404, "There is no resource at this path."),
    "product_not_found": (404, "The product does not exist."),
    "method_not_allowed": (405, "The method is not allowed for this path."),
    "body_too_large": (413, "The request body is too large."),
    "unsupported_media_type": (415, "The request body must be application/json."),
    "invalid": (422, "The request is invalid."),
    "query_empty": (422, "The query is empty."),
    "query_too_long": (422, "The query is too long."),
    "query_not_text": (422, "The query is not valid text."),
    "filter_unknown_field": (422, "A filter names a field that cannot be filtered."),
    "filter_invalid": (422, "A filter is invalid."),
    "as_of_unavailable": (422, "No answer is available as of that instant."),
    "rate_limited": (429, "Too many requests."),
    "internal": (500, "An internal error occurred; see the server log for the request ID."),
    "search_failed": (500, "The index search failed; see the server log for the request ID."),
    "no_index": (503, "The index does not exist yet."),
    "index_unavailable": (503, "The index is temporarily unavailable."),
    "overloaded": (503, "Too many searches are waiting."),
    "status_unavailable": (503, "The pipeline state is not available yet."),
    "timeout": (504, "The search timed out."),
}
_BY_STATUS = {404: "not_found", 405: "method_not_allowed"}
_RETRYABLE = frozenset({"index_unavailable", "overloaded", "timeout", "no_index", "status_unavailable"})


class RequestError(Exception):
    """Ends a request with a problem. `errors` name locations in the request and the values allowed there."""

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        errors: Sequence[Mapping[str, object]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(code)
        self.code = code
        self.status, self.title = _TITLES[code]
        self.detail = detail
        self.errors = errors
        self.headers = dict(headers or {})
        if code in _RETRYABLE:
            self.headers.setdefault("Retry-After", str(RETRY_SECONDS))

    def to_body(self, request_id: str) -> dict[str, Any]:
        """Return the JSON object."""
        body: dict[str, Any] = {
            "type": f"urn:headwater:problem:{self.code}",
            "title": self.title,
            "status": self.status,
            "code": self.code,
            "request_id": request_id,
        }
        if self.detail:
            body["detail"] = self.detail
        if self.errors:
            body["errors"] = list(self.errors)
        return body

    def to_response(self, request_id: str) -> JSONResponse:
        """Return the complete response."""
        return JSONResponse(
            self.to_body(request_id), self.status, headers=self.headers, media_type=PROBLEM_TYPE
        )


def translate_error(error: HeadwaterError) -> RequestError:
    """Convert a search error to a problem. The error's text names paths, so only the log has it. The text of
    an unavailable instant is an exception: it names only instants."""
    if isinstance(error, AsOfUnavailableError):
        return RequestError("as_of_unavailable", error.message)
    if isinstance(error, IndexNotFoundError):
        return RequestError("no_index")
    if isinstance(error, SearchError):
        return RequestError("index_unavailable" if error.retryable else "search_failed")
    return RequestError("internal")


def translate_validation(request: Request, error: RequestValidationError) -> RequestError:
    """Convert a validation error of a request to a problem."""
    del request
    found = error.errors()
    if any(item["type"] == "json_invalid" for item in found):
        return RequestError("bad_json")
    errors = [
        {"where": ".".join(map(str, item["loc"][1:])), "message": item["msg"].removeprefix("Value error, ")}
        for item in found
    ]
    code = next((item["ctx"]["code"] for item in found if "code" in item.get("ctx", {})), "invalid")
    return RequestError(code, errors=errors)


def translate_http(error: HTTPException) -> RequestError:
    """Convert the framework's HTTP error to a problem."""
    if error.status_code == 400:
        return RequestError("bad_json")
    return RequestError(_BY_STATUS.get(error.status_code, "internal"))


def list_problems() -> list[tuple[str, int, str]]:
    """Return the code, status and sentence of each problem."""
    return [(code, status, title) for code, (status, title) in _TITLES.items()]

"""Errors as problem+json (RFC 9457): a status, a code, a sentence; never a trace, never a path."""

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
    "bad_json": (400, "The body is not JSON."),
    "not_utf8": (400, "The body is not UTF-8."),
    "key_missing": (401, "A key is needed: `Authorization: Bearer KEY` or `X-API-Key: KEY`."),
    "key_wrong": (401, "This key is not known."),
    "forbidden": (403, "This key may not do that."),
    "not_found": (404, "There is no such address."),
    "product_not_found": (404, "There is no such product."),
    "method_not_allowed": (405, "This address takes another method."),
    "body_too_large": (413, "The body is too large."),
    "unsupported_media_type": (415, "The body has to be application/json."),
    "invalid": (422, "The request is not as it should be."),
    "query_empty": (422, "The query is empty."),
    "query_too_long": (422, "The query is too long."),
    "query_not_text": (422, "The query is not text."),
    "filter_unknown_field": (422, "A filter names a field that cannot be filtered on."),
    "filter_invalid": (422, "A filter is not as it should be."),
    "as_of_unavailable": (422, "There is no answer as of that instant."),
    "rate_limited": (429, "Too many requests."),
    "internal": (500, "Something went wrong here; the log has it under the request id."),
    "search_failed": (500, "The index could not be searched; the log has it under the request id."),
    "no_index": (503, "There is no index yet."),
    "index_unavailable": (503, "The index cannot be reached now."),
    "overloaded": (503, "Too many searches are waiting."),
    "status_unavailable": (503, "The state of the pipeline could not be read yet."),
    "timeout": (504, "The search took too long."),
}
_BY_STATUS = {404: "not_found", 405: "method_not_allowed"}
_RETRYABLE = frozenset({"index_unavailable", "overloaded", "timeout", "no_index", "status_unavailable"})


class RequestError(Exception):
    """Ends a request. `errors` name locations in the request, and what is allowed there."""

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
        """Return the whole response."""
        return JSONResponse(
            self.to_body(request_id), self.status, headers=self.headers, media_type=PROBLEM_TYPE
        )


def translate_error(error: HeadwaterError) -> RequestError:
    """Convert a search error to a problem. The error's text stays in the log: it names paths. Only an
    unavailable instant's text is shown: it names instants only."""
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
    """Return code, status and sentence of all problems."""
    return [(code, status, title) for code, (status, title) in _TITLES.items()]

"""The JSON protocol of SQS: one function for the operations that capture calls all the time."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from botocore.exceptions import ClientError

from headwater.sources.s3.signed_http import HttpAnswer, NoAnswerError, SignedHttp

SqsCall = Callable[[str, Mapping[str, object]], dict[str, Any]]
"""Calls an operation with its request and returns the response.

Raises botocore's errors: a `ClientError` for what SQS refuses, the others for what never reached it.
"""


def build_sqs_call(http: SignedHttp, endpoint: str) -> SqsCall:
    """Return the function for the service at `endpoint`."""
    url = endpoint.rstrip("/") + "/"

    def call(operation: str, request: Mapping[str, object]) -> dict[str, Any]:
        answer = http.post(
            url,
            ("Content-Type: application/x-amz-json-1.0", f"X-Amz-Target: AmazonSQS.{operation}"),
            orjson.dumps(request),
        )
        if answer.status == 200:
            return _parse(answer)
        raise _to_error(answer, operation)

    return call


def _parse(answer: HttpAnswer) -> dict[str, Any]:
    try:
        value = _load(answer.body)
    except ValueError as error:
        raise NoAnswerError(error=f"the response is not JSON: {answer.body[:80]!r}") from error
    if not isinstance(value, dict):
        raise NoAnswerError(error=f"the response is not a JSON object: {answer.body[:80]!r}")
    return value


def _load(body: bytes) -> object:
    try:
        return orjson.loads(body)
    except ValueError:
        # Half of a surrogate pair: a service that is not AWS may pass it on as it was sent.
        return json.loads(body)


def _to_error(answer: HttpAnswer, operation: str) -> ClientError:
    try:
        found = _load(answer.body)
    except ValueError:
        found = None
    fields = found if isinstance(found, dict) else {}
    # `message` or `Message`, depending on the error and on the service.
    text = fields.get("message") or fields.get("Message") or answer.body[:200].decode("utf-8", "replace")
    return ClientError(
        {
            "Error": {"Code": str(fields.get("__type") or f"HTTP {answer.status}"), "Message": str(text)},
            "ResponseMetadata": {
                "HTTPStatusCode": answer.status,
                "RequestId": "",
                "HostId": "",
                "HTTPHeaders": {},
                "RetryAttempts": 0,
            },
        },
        operation,
    )

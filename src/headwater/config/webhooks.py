"""`webhooks:` where a run reports commits and quarantined data."""

import re
from collections.abc import Iterable
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, Field

from headwater.config.section import Duration, Patterns, Section

HEADERS_VARIABLE = "HEADWATER_WEBHOOK_HEADERS"
"""Headers of the HTTP requests, in the format of OpenTelemetry's OTEL_EXPORTER_OTLP_HEADERS."""

_TOPIC = re.compile(r"(?:sns:)?(?P<arn>arn:aws[a-z-]*:sns:(?P<region>[a-z0-9-]+):\d{12}:[A-Za-z0-9_.-]+)")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def find_topic(target: str) -> tuple[str, str] | None:
    """Return ARN and region of an SNS topic; None for a URL."""
    found = _TOPIC.fullmatch(target)
    return (found["arn"], found["region"]) if found else None


def check_targets(targets: Iterable[str]) -> tuple[str, ...]:
    """Return the targets unchanged. Raises `ValueError` for one that is neither a URL nor a topic."""
    checked = tuple(targets)
    for target in checked:
        if find_topic(target) is None and not _is_url(target):
            raise ValueError(
                f"{target!r} is neither an HTTP(S) URL nor the ARN of an SNS topic; write, for example, "
                "https://example.com/hook or sns:arn:aws:sns:eu-west-1:123456789012:alerts"
            )
    return checked


def parse_headers(text: str) -> dict[str, str]:
    """Parse `name=value,name=value`, with values in percent-encoding. Raises `ValueError`."""
    headers = {}
    for number, pair in enumerate((pair for pair in text.split(",") if pair.strip()), 1):
        name, equals, value = (part.strip() for part in pair.partition("="))
        decoded = unquote(value)
        # The text may be a secret: an error names its position only.
        if not equals or not _HEADER_NAME.fullmatch(name) or not decoded.isprintable():
            raise ValueError(f"entry {number} is not NAME=VALUE")
        headers[name] = decoded
    return headers


def _is_url(target: str) -> bool:
    try:
        parts = urlsplit(target)
        # Reading an invalid port raises.
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


Targets = Annotated[Patterns, AfterValidator(check_targets)]


class WebhooksConfig(Section):
    """Where a run reports commits and quarantined data: HTTP(S) URLs, which get a POST with a JSON document,
    and SNS topics. Deliveries never delay a batch.

    Headers of the HTTP requests, such as keys, come from the environment: HEADWATER_WEBHOOK_HEADERS, as
    `name=value,name=value`.
    """

    on_commit: Targets = Field(
        (),
        description="Targets of a document for each commit of a data table: URLs, or `sns:` with an ARN.",
        examples=["https://example.com/hook"],
    )
    on_quarantine: Targets = Field(
        (),
        description="Targets of a document for each batch with quarantined messages, objects or records.",
        examples=[["sns:arn:aws:sns:eu-west-1:123456789012:alerts"]],
    )
    timeout: Annotated[Duration, Field(gt=0, le=300)] = Field(
        10, description="Timeout of a request, in seconds."
    )
    retry_for: Duration = Field(
        600, description="Time for which a failed delivery is retried with backoff; then it is dropped."
    )
    max_waiting: int = Field(
        1000,
        ge=1,
        le=100_000,
        description="Maximum number of documents to buffer per target; then the oldest are dropped.",
    )

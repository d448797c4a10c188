"""Reads of objects through libcurl: a GET takes a twentieth of the CPU that it takes through boto3.

Where a bucket answers (host, path, region, access points, endpoints of one's own) and how its requests are
signed is boto3's knowledge. The first read of each bucket is boto3's, and its request is the model of those
that follow. Whatever is answered with anything but the object is asked again by boto3, which finds redirects
and retries, and knows what a failure means: docs/decisions/0029-libcurl.md.
"""

import re
import threading
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from botocore.exceptions import BotoCoreError

from headwater.sources.object_store import ObjectContent, ObjectRef, ObjectState
from headwater.sources.s3.signed_http import SignedHttp

if TYPE_CHECKING:
    import botocore.session
    from botocore.awsrequest import AWSPreparedRequest
    from mypy_boto3_s3 import S3Client

_SCOPE = re.compile(r"Credential=[^,]+/\d{8}/([a-z0-9-]+)/s3/aws4_request")
_NULL_VERSION = "null"
_DOTS = frozenset({".", ".."})  # libcurl would resolve them, and read another object
_UNRESERVED_IN_KEYS = "/~"  # those that botocore leaves as they are


class _Address(NamedTuple):
    """Where a bucket answers: the URL of a key is `base`, a slash and the key."""

    base: str
    region: str


class DirectReads:
    """Reads objects of buckets that boto3 has read before. Thread-safe."""

    def __init__(
        self,
        client: "S3Client",
        core: "botocore.session.Session",
        connect_seconds: float,
        silent_seconds: float,
    ) -> None:
        """Learn from the requests of `client`, and sign with the credentials of its session."""
        self._core = core
        self._connect_seconds = connect_seconds
        self._silent_seconds = silent_seconds
        self._addresses: dict[str, _Address] = {}
        self._https: dict[str, SignedHttp] = {}
        self._lock = threading.Lock()
        self._sent = threading.local()
        client.meta.events.register("before-send.s3.GetObject", self._note_request)

    def read(self, ref: ObjectRef, max_bytes: int | None) -> ObjectContent | None:
        """Return the object, or None if boto3 has to ask for it."""
        address = self._addresses.get(ref.bucket)
        if address is None or not _DOTS.isdisjoint(ref.key.split("/")):
            return None
        etag = find_required_etag(ref)
        headers = () if etag is None else (f'If-Match: "{etag}"',)
        try:
            url = f"{address.base}/{quote(ref.key, safe=_UNRESERVED_IN_KEYS)}"
            if ref.version_id is not None:
                url += f"?versionId={quote(ref.version_id, safe='~')}"
            answer = self._sign_in(address.region).get(url, headers, max_bytes)
        except (BotoCoreError, UnicodeEncodeError):  # no answer, no usable credentials, no such key
            return None
        if answer.status != 200:
            return None
        return _to_content(answer.body, answer.headers)

    def learn(self, ref: ObjectRef) -> None:
        """Take the request that boto3 has just sent in this thread for `ref` as the model for its bucket."""
        url, authorization = getattr(self._sent, "request", ("", ""))
        scope = _SCOPE.search(authorization)
        path = "/" + quote(ref.key, safe=_UNRESERVED_IN_KEYS)
        bare = url.partition("?")[0]
        if scope is None or not bare.endswith(path):
            return
        self._addresses[ref.bucket] = _Address(bare.removesuffix(path), scope.group(1))

    def _note_request(self, request: "AWSPreparedRequest", **_: object) -> None:
        self._sent.request = (request.url, str(request.headers.get("Authorization", "")))

    def _sign_in(self, region: str) -> SignedHttp:
        with self._lock:
            if region not in self._https:
                self._https[region] = SignedHttp(
                    self._core,
                    "s3",
                    region,
                    connect_seconds=self._connect_seconds,
                    silent_seconds=self._silent_seconds,
                )
            return self._https[region]


def find_required_etag(ref: ObjectRef) -> str | None:
    """Return the etag that the response must have; None if a version is named, which no write can change.

    The version id of writes while versioning is suspended is `null`, and the next such write overwrites it.
    """
    return ref.etag if ref.version_id in (None, _NULL_VERSION) else None


def _to_content(data: bytes, headers: Mapping[str, str]) -> ObjectContent | None:
    try:
        modified = parsedate_to_datetime(headers["last-modified"])
    except (KeyError, ValueError):
        return None
    if modified.tzinfo is None:
        return None
    etag = headers.get("etag", "").strip('"') or None
    return ObjectContent(data, ObjectState(etag, headers.get("x-amz-version-id"), len(data), modified))

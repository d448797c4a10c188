"""Answers of Cloud Storage that no emulator gives."""

import gzip
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from google.auth import exceptions as auth
from urllib3 import HTTPResponse

from headwater.errors import (
    CredentialsError,
    ObjectForbiddenError,
    ObjectMissingError,
    ObjectSupersededError,
    ObjectUnavailableError,
)
from headwater.sources.gcs.object_store import GcsObjectStore
from headwater.sources.object_store import ObjectRef, ObjectStoreConfig

REF = ObjectRef("gcs", "acme", "a.json", "7")
STATE = {"generation": "8", "size": "3", "timeCreated": "2026-11-26T12:00:00.5Z"}


def answer(status: int = 200, body: bytes = b"one", **headers: str) -> requests.Response:
    found = requests.Response()
    found.status_code = status
    length = {"content-length": str(len(body)), "x-goog-generation": "7"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    found.headers.update(length | named)
    found.raw = HTTPResponse(io.BytesIO(body), headers=found.headers, preload_content=False)
    return found


class ScriptedSession:
    """Gives the next of its answers to each request."""

    def __init__(self, *answers: requests.Response | Exception) -> None:
        self._answers: Iterator[requests.Response | Exception] = iter(answers)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def get(self, url: str, *, params: dict[str, Any], **_: object) -> requests.Response:
        self.asked.append((url, params))
        found = next(self._answers)
        if isinstance(found, Exception):
            raise found
        return found


def build(
    *answers: requests.Response | Exception, attempts: int = 1
) -> tuple[GcsObjectStore, ScriptedSession]:
    session: Any = ScriptedSession(*answers)
    return GcsObjectStore(session, ObjectStoreConfig("gcs", max_attempts=attempts)), session


def to_json(value: str, status: int = 200) -> requests.Response:
    return answer(status, value.encode())


def test_a_generation_is_asked_for_by_number() -> None:
    store, session = build(answer(last_modified="Thu, 26 Nov 2026 12:00:00 GMT"))
    content = store.read(REF)
    assert content.data == b"one"
    assert (content.state.version_id, content.state.etag, content.state.size) == ("7", "7", 3)
    ((url, parameters),) = session.asked
    assert url == "https://storage.googleapis.com/storage/v1/b/acme/o/a.json"
    assert parameters == {"alt": "media", "generation": "7"}


def test_a_compressed_object_is_read_as_it_is_stored() -> None:
    stored = gzip.compress(b"one")
    store, _ = build(answer(body=stored, content_encoding="gzip", x_goog_stored_content_encoding="gzip"))
    assert store.read(REF).data == stored


def test_what_is_compressed_on_the_way_is_decompressed() -> None:
    packed = gzip.compress(b"one")
    store, _ = build(
        answer(
            body=packed,
            content_encoding="gzip",
            x_goog_stored_content_encoding="identity",
            x_goog_stored_content_length="3",
        )
    )
    assert store.read(REF).data == b"one"


def test_an_overwritten_generation_is_superseded() -> None:

    store, _ = build(answer(404), to_json(json.dumps(STATE)))
    with pytest.raises(ObjectSupersededError, match="generation 8, no longer 7"):
        store.read(REF)


def test_an_absent_bucket_is_no_removal() -> None:
    store, _ = build(answer(404), answer(404), answer(404))
    with pytest.raises(ObjectForbiddenError, match="there is no bucket acme"):
        store.read(REF)


def test_an_absent_object_is_missing() -> None:
    store, _ = build(answer(404), answer(404), to_json('{"kind": "storage#objects"}'))
    with pytest.raises(ObjectMissingError):
        store.read(REF)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: answer(403), ObjectForbiddenError),
        (lambda: answer(401), CredentialsError),
        (lambda: answer(400), ObjectMissingError),
        (lambda: answer(429), ObjectUnavailableError),
        (lambda: answer(503), ObjectUnavailableError),
        (lambda: answer(content_length="100"), ObjectUnavailableError),
        (lambda: auth.RefreshError("expired"), CredentialsError),
        (lambda: auth.TransportError("no route"), ObjectUnavailableError),
        (lambda: requests.ConnectionError("refused"), ObjectUnavailableError),
    ],
)
def test_each_refusal_has_its_error(
    found: Callable[[], requests.Response | Exception], expected: type[Exception]
) -> None:
    store, _ = build(found())
    with pytest.raises(expected, match=r"a\.json") as raised:
        store.read(REF)
    assert getattr(raised.value, "hint", "") or expected is ObjectMissingError


def test_a_busy_service_is_asked_again() -> None:
    store, session = build(answer(503), answer(), attempts=2)
    assert store.read(REF).data == b"one"
    assert len(session.asked) == 2


@pytest.mark.parametrize("key", [".", ".."])
def test_impossible_keys_are_not_asked_for(key: str) -> None:
    store, session = build()
    with pytest.raises(ObjectMissingError):
        store.read(ObjectRef("gcs", "acme", key, "7"))
    assert not session.asked

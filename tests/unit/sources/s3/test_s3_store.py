"""What goes over the wire, and what each of S3's answers means."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from headwater.errors import (
    CredentialsError,
    HeadwaterError,
    ObjectForbiddenError,
    ObjectMissingError,
    ObjectSupersededError,
    ObjectTooLargeError,
    ObjectUnavailableError,
    SourceError,
)
from headwater.sources.object_store import ObjectRef, ObjectStoreConfig
from headwater.sources.s3.object_store import S3ObjectStore, build_s3_store
from tests.fixtures.servers.scripted_server import Answer, ScriptedServer, run_scripted_server

FOUND = {"ETag": '"abc"', "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT", "x-amz-version-id": "v1"}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with run_scripted_server() as found:
        yield found


@pytest.fixture(params=["first read", "later reads"])
def store(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> S3ObjectStore:
    """The first read of a bucket goes through boto3, and those that follow through libcurl."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    store = build_s3_store(ObjectStoreConfig("s3", endpoint=server.endpoint, max_attempts=1))
    if request.param == "later reads":
        server.answer = lambda _: Answer(body=b"x", headers=FOUND)
        store.read(ref())
        server.targets.clear()
        server.headers.clear()
    return store


def ref(key: str = "k", version: str | None = None, etag: str | None = None) -> ObjectRef:
    return ObjectRef("s3", "bucket", key, version, etag)


def refuse(status: int, code: str) -> Answer:
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>"
    return Answer(status, body.encode())


@pytest.mark.parametrize(
    "key",
    [
        "a+b",
        "100%",
        "a%41b",
        "a#b",
        "a?b=c",
        "../up",
        "a/../b",
        "./a",
        "a//b",
        "/leading",
        "//two",
        "ü/日本",
        "a b",
    ],
)
def test_every_key_reaches_the_server_exactly(store: S3ObjectStore, server: ScriptedServer, key: str) -> None:
    server.answer = lambda _: Answer(body=b"x", headers=FOUND)

    store.read(ref(key))
    store.state(ref(key))

    assert server.targets == [f"/bucket/{quote(key, safe='/~')}"] * 2


def test_a_version_is_asked_for_by_its_id(store: S3ObjectStore, server: ScriptedServer) -> None:
    server.answer = lambda _: Answer(body=b"x", headers=FOUND)

    content = store.read(ref(version="v+1", etag="abc"))

    assert "versionId=v%2B1" in server.targets[0]
    assert "If-Match" not in server.headers[0]
    assert (content.state.version_id, content.state.etag, content.state.size) == ("v1", "abc", 1)


@pytest.mark.parametrize("version", [None, "null"])
def test_unversioned_objects_are_requested_with_their_etag(
    store: S3ObjectStore, server: ScriptedServer, version: str | None
) -> None:
    server.answer = lambda _: Answer(body=b"x", headers=FOUND)

    store.read(ref(version=version, etag="abc"))

    assert server.headers[0]["If-Match"] == '"abc"'


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (404, "NoSuchKey", ObjectMissingError),
        (404, "NoSuchVersion", ObjectMissingError),
        (405, "MethodNotAllowed", ObjectMissingError),
        (400, "InvalidArgument", ObjectMissingError),
        (400, "KeyTooLongError", ObjectMissingError),
        (404, "NoSuchBucket", ObjectForbiddenError),
        (403, "AccessDenied", ObjectForbiddenError),
        (403, "InvalidObjectState", ObjectForbiddenError),
        (400, "KMS.DisabledException", ObjectForbiddenError),
        (412, "PreconditionFailed", ObjectSupersededError),
        (500, "InternalError", ObjectUnavailableError),
        (503, "SlowDown", ObjectUnavailableError),
        (400, "RequestTimeout", ObjectUnavailableError),
        (403, "InvalidAccessKeyId", CredentialsError),
        (403, "SignatureDoesNotMatch", CredentialsError),
        (403, "RequestTimeTooSkewed", CredentialsError),
        (400, "ExpiredToken", CredentialsError),
        (400, "AuthorizationHeaderMalformed", SourceError),
    ],
)
def test_every_refusal_has_its_error(
    store: S3ObjectStore, server: ScriptedServer, status: int, code: str, expected: type[HeadwaterError]
) -> None:
    server.answer = lambda _: refuse(status, code)

    with pytest.raises(expected) as caught:
        store.read(ref(etag="abc"))

    assert type(caught.value) is expected
    assert "bucket" in caught.value.message


def test_truncated_body_is_requested_again(store: S3ObjectStore, server: ScriptedServer) -> None:
    cut = Answer(body=b"12345", headers=FOUND, claimed_length=10)
    whole = Answer(body=b"1234567890", headers=FOUND)
    server.answer = lambda _: whole if len(server.targets) > 1 else cut

    assert store.read(ref()).data == b"1234567890"


def test_repeatedly_truncated_body_is_unavailable(store: S3ObjectStore, server: ScriptedServer) -> None:
    server.answer = lambda _: Answer(body=b"12345", headers=FOUND, claimed_length=10)

    with pytest.raises(ObjectUnavailableError, match="was truncated"):
        store.read(ref())
    assert len(server.targets) in (3, 4)  # libcurl's one, and three of boto3


def test_too_large_an_object_is_not_downloaded(store: S3ObjectStore, server: ScriptedServer) -> None:
    server.answer = lambda _: Answer(body=b"", headers=FOUND, claimed_length=10**12)

    with pytest.raises(ObjectTooLargeError, match="1000000000000 bytes"):
        store.read(ref(), max_bytes=1000)


def test_a_server_that_is_not_there_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    store = build_s3_store(ObjectStoreConfig("s3", endpoint="http://127.0.0.1:9", max_attempts=1))

    with pytest.raises(ObjectUnavailableError, match=r"127\.0\.0\.1:9"):
        store.read(ref())


def test_missing_credentials_affect_the_complete_source(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    store = build_s3_store(ObjectStoreConfig("s3", endpoint=server.endpoint))

    with pytest.raises(CredentialsError, match="no usable AWS credentials"):
        store.read(ref())


@pytest.mark.parametrize("key", ["", "k"])
def test_a_bucket_or_key_that_cannot_be_asked_for_is_forbidden(store: S3ObjectStore, key: str) -> None:
    with pytest.raises(ObjectForbiddenError):
        store.read(ObjectRef("s3", "not a bucket!", key))

"""What libcurl asks for, and when boto3 asks instead."""

import re
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import boto3
import botocore.session
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import CredentialRetrievalError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.errors import CredentialsError, ObjectSupersededError
from headwater.sources.object_store import ObjectRef, ObjectStoreConfig
from headwater.sources.s3.direct_reads import DirectReads
from headwater.sources.s3.object_store import S3ObjectStore, build_s3_store
from headwater.sources.s3.signed_http import USER_AGENT
from tests.fixtures.servers.scripted_server import Answer, ScriptedServer, run_scripted_server

FOUND = {"ETag": '"abc"', "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT", "x-amz-version-id": "v1"}
KEYS = ("AKIDEXAMPLE", "secret/key+1")


def answer_x(_: str) -> Answer:
    return Answer(body=b"x", headers=FOUND)


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with run_scripted_server() as found:
        yield found


@pytest.fixture
def store(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> S3ObjectStore:
    """A store that has read an object of the bucket before."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS[1])
    config = ObjectStoreConfig("s3", region="eu-west-1", endpoint=server.endpoint, max_attempts=1)
    store = build_s3_store(config)
    server.answer = answer_x
    store.read(ref("first"))
    server.targets.clear()
    server.headers.clear()
    return store


def ref(key: str = "k", version: str | None = None, etag: str | None = None) -> ObjectRef:
    return ObjectRef("s3", "bucket", key, version, etag)


def list_agents(server: ScriptedServer) -> list[str]:
    """Who asked: libcurl or boto3."""
    return ["libcurl" if headers["User-Agent"] == USER_AGENT else "boto3" for headers in server.headers]


def compute_signature(server: ScriptedServer) -> str:
    """The signature that botocore computes for the last request."""
    headers = {name.lower(): value for name, value in server.headers[-1].items()}
    request = AWSRequest("GET", server.endpoint + server.targets[-1])
    for name in headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";"):
        request.headers[name] = headers[name]
    request.context["timestamp"] = headers["x-amz-date"]
    signer = S3SigV4Auth(Credentials(*KEYS), "s3", "eu-west-1")
    return signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)


KEYS_OF_ANY_KIND = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        st.sampled_from(["", ".", "..", "...", "%2e", "%", "+", " ", "a=b&c", "#", "?", "~", "*", "'", "ü"]),
    ),
    min_size=1,
    max_size=5,
).map("/".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(key=KEYS_OF_ANY_KIND.filter(bool), version=st.none() | st.text("abcXYZ019._-+/=", min_size=1))
def test_any_key_is_requested_and_signed_as_boto3_would(
    store: S3ObjectStore, server: ScriptedServer, key: str, version: str | None
) -> None:
    server.targets.clear()
    server.headers.clear()
    content = store.read(ref(key, version, None if version else "abc"))
    assert content.data == b"x"
    query = "" if version is None else f"?versionId={quote(version, safe='~')}"
    target = f"/bucket/{quote(key, safe='/~')}{query}"
    assert server.targets == [target]
    is_dotted = bool({".", ".."} & set(key.split("/")))
    assert list_agents(server) == ["boto3" if is_dotted else "libcurl"]
    assert server.headers[0].get("If-Match") == (None if version else '"abc"')
    assert server.headers[0]["Authorization"].endswith(f"Signature={compute_signature(server)}")


def test_the_state_is_that_of_boto3(store: S3ObjectStore, server: ScriptedServer) -> None:
    direct = store.read(ref())
    boto = store.read(ref("a/./b"))
    assert list_agents(server) == ["libcurl", "boto3"]
    assert direct == boto


def test_each_bucket_is_read_by_boto3_once(store: S3ObjectStore, server: ScriptedServer) -> None:
    for bucket in ("bucket", "other", "other", "bucket"):
        store.read(ObjectRef("s3", bucket, "k"))
    assert list_agents(server) == ["libcurl", "boto3", "libcurl", "libcurl"]


def test_what_is_not_the_object_is_asked_again_by_boto3(store: S3ObjectStore, server: ScriptedServer) -> None:
    server.answer = lambda _: Answer(412)
    with pytest.raises(ObjectSupersededError):
        store.read(ref(etag="old"))
    assert list_agents(server) == ["libcurl", "boto3"]


@pytest.mark.parametrize("name", ["Last-Modified"])
@pytest.mark.parametrize("value", [None, "yesterday", "Mon, 01 Jan 2024 00:00:00"])
def test_a_response_without_a_time_is_asked_again(
    store: S3ObjectStore, server: ScriptedServer, name: str, value: str | None
) -> None:
    answers = [answer_x(""), Answer(body=b"x", headers={"ETag": '"abc"', **({name: value} if value else {})})]
    server.answer = lambda _: answers.pop()
    assert store.read(ref()).state.last_modified.year == 2024
    assert list_agents(server) == ["libcurl", "boto3"]


def test_a_bucket_is_read_where_boto3_read_it_last() -> None:
    with run_scripted_server() as other:
        other.answer = answer_x
        core = botocore.session.Session()
        core.set_credentials(*KEYS)
        client = boto3.session.Session(botocore_session=core).client(
            "s3", endpoint_url=other.endpoint, region_name="eu-west-1"
        )
        direct = DirectReads(client, core, 5, 5)
        assert direct.read(ref(), None) is None
        client.get_object(Bucket="bucket", Key="k")
        direct.learn(ref())
        assert direct.read(ref(), None) is not None
        assert [urlsplit(target).path for target in other.targets] == ["/bucket/k"] * 2
    assert direct.read(ref(), None) is None


@pytest.mark.parametrize(
    ("bucket", "endpoint", "host", "path"),
    [
        ("landing", None, "landing.s3.eu-west-1.amazonaws.com", "/a%20b"),
        ("has.dots", None, "s3.eu-west-1.amazonaws.com", "/has.dots/a%20b"),
        ("landing", "https://minio.example/sub", "minio.example", "/sub/landing/a%20b"),
        (
            "arn:aws:s3:us-east-2:123456789012:accesspoint/in",
            None,
            "in-123456789012.s3-accesspoint.us-east-2.amazonaws.com",
            "/a%20b",
        ),
    ],
)
def test_the_address_is_where_boto3_sent_its_request(
    monkeypatch: pytest.MonkeyPatch, bucket: str, endpoint: str | None, host: str, path: str
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS[1])
    config = ObjectStoreConfig("s3", region="eu-west-1", endpoint=endpoint, max_attempts=1)
    store = build_s3_store(config)
    asked: list[str] = []

    class StopError(Exception):
        """Nothing is sent."""

    def stop(request: object, **_: object) -> None:
        asked.append(str(getattr(request, "url", "")))
        raise StopError

    client, direct = store._client, store._direct
    client.meta.events.register_last("before-send.s3.GetObject", stop)
    where = ObjectRef("s3", bucket, "a b")
    with pytest.raises(StopError):
        client.get_object(Bucket=bucket, Key="a b")
    direct.learn(where)
    sent: list[str] = []
    monkeypatch.setattr(
        "headwater.sources.s3.direct_reads.SignedHttp.get",
        lambda self, url, headers, max_bytes: sent.append(url) or Answer(404),
    )
    direct.read(where, None)
    assert sent == asked
    assert (urlsplit(sent[0]).netloc, urlsplit(sent[0]).path) == (host, path)
    region = re.search(r":us-east-2:", bucket)
    assert direct._addresses[bucket].region == ("us-east-2" if region else "eu-west-1")


def test_credentials_that_cannot_be_renewed_have_their_error(
    store: S3ObjectStore, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a role end after an hour: a later read must fail as the first one would."""

    def fail(_: object) -> None:
        raise CredentialRetrievalError(provider="a role", error_msg="no answer")

    monkeypatch.setattr("botocore.credentials.Credentials.get_frozen_credentials", fail)
    with pytest.raises(CredentialsError, match="a role"):
        store.read(ref())
    assert server.targets == []

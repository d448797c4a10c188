"""Credentials of a source: every request of bucket and queue is signed with those of its role or profile."""

import re
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from pydantic import ValidationError

from headwater.config.source import S3SourceConfig
from headwater.errors import CredentialsError, HeadwaterError
from headwater.sources.object_store import ObjectRef
from headwater.sources.registry import build_cleaner, build_object_store, build_queue, build_source
from headwater.sources.s3.access import Access
from headwater.sources.s3.checks.credentials import check_credentials
from tests.fixtures.servers.http_server import serve

ROLE = "arn:aws:iam::123456789012:role/landing"
_ASSUMED = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
<Credentials><AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey>
<SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>
</AssumeRoleResult></AssumeRoleResponse>"""
_REFUSED = (
    """<ErrorResponse><Error><Code>AccessDenied</Code><Message>no trust</Message></Error></ErrorResponse>"""
)


class Cloud:
    """STS, which accepts or refuses; S3 and SQS, which have nothing. `signed` are requests by access key."""

    def __init__(self) -> None:
        self.url = ""
        self.assumed: list[dict[str, list[str]]] = []
        self.signed: list[tuple[str, str]] = []
        self.trusts = True

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        found = re.search(r"Credential=([^/]+)/\d+/[^/]+/(\w+)/", handler.headers.get("Authorization", ""))
        assert found is not None
        self.signed.append((found[2], found[1]))
        status, text = 404, "<Error><Code>NoSuchKey</Code></Error>"
        if found[2] == "sts":
            self.assumed.append(parse_qs(body.decode()))
            status, text = (200, _ASSUMED) if self.trusts else (403, _REFUSED)
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(text.encode())


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cloud]:
    cloud = Cloud()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            cloud.answer(self)

        def do_GET(self) -> None:
            cloud.answer(self)

        def do_HEAD(self) -> None:
            cloud.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    profiles = tmp_path / "credentials"
    profiles.write_text("[east]\naws_access_key_id = AKIAEAST\naws_secret_access_key = s\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(profiles))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIADEFAULT")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with serve(Handler) as cloud.url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", cloud.url)
        yield cloud


def build(cloud: Cloud, **access: str) -> S3SourceConfig:
    queue = {"url": f"{cloud.url}/1/landing", "region": "eu-west-1", "long_poll_wait": 0}
    cleaning = {"clean_source": "delete", "clean_source_delay": 7200}
    given = {"type": "s3", "bucket": "b", "region": "eu-west-1", "endpoint": cloud.url, "queue": queue}
    return S3SourceConfig.model_validate({**given, **cleaning, **access})


def use_everything(source: S3SourceConfig) -> None:
    """Ask bucket and queue in each way that a run does; the answers do not matter."""
    store = build_object_store(build_source(source).build_store_config())
    assert store.state(ObjectRef("s3", "b", "k")) is None
    attempts = [
        lambda: store.read(ObjectRef("s3", "b", "k")),
        *build_source(source).list_preflight_checks(captures=True),
    ]
    for attempt in attempts:
        with pytest.raises(HeadwaterError):
            attempt()
    with build_source(source).open_lister(lambda: None) as lister, pytest.raises(HeadwaterError):
        list(lister.iter_objects())
    with closing(build_queue(source)) as queue, pytest.raises(HeadwaterError):
        queue.receive(1, 0)
    with closing(build_cleaner(source)) as cleaner:
        assert cleaner is not None


@pytest.mark.parametrize(
    ("access", "key", "asked_with"),
    [
        ({}, "AKIADEFAULT", None),
        ({"profile": "east"}, "AKIAEAST", None),
        ({"role_arn": ROLE, "external_id": "acme"}, "ASIAROLE", "AKIADEFAULT"),
        ({"role_arn": ROLE, "profile": "east"}, "ASIAROLE", "AKIAEAST"),
    ],
)
def test_bucket_and_queue_are_asked_with_the_credentials_of_the_source(
    cloud: Cloud, access: dict[str, str], key: str, asked_with: str | None
) -> None:
    use_everything(build(cloud, **access))
    used = {(service, found) for service, found in cloud.signed if service != "sts"}
    assert used == {("s3", key), ("sqs", key)}
    assert {found for service, found in cloud.signed if service == "sts"} == ({asked_with} - {None})
    for asked in cloud.assumed:
        assert asked["RoleArn"] == [ROLE]
        assert asked.get("ExternalId") == ([access["external_id"]] if "external_id" in access else None)


def test_a_refused_role_is_an_error_that_names_it(cloud: Cloud) -> None:
    cloud.trusts = False
    source = build(cloud, role_arn=ROLE)
    with pytest.raises(
        CredentialsError, match=rf"no credentials for bucket b: .*{ROLE}.*AccessDenied"
    ) as caught:
        build_source(source).list_preflight_checks(captures=False)[0]()
    assert "trust policy" in caught.value.hint
    finding = check_credentials(Access.of(source), ask_aws=False)
    assert (finding.status, "trust policy" in finding.fix) == ("problem", True)


def test_large_objects_are_not_left_to_spark_which_has_other_credentials(cloud: Cloud) -> None:
    assert build_source(build(cloud)).build_store_config().spark_reads
    assert not build_source(build(cloud, profile="east")).build_store_config().spark_reads


@pytest.mark.parametrize(
    "access", [{"external_id": "acme"}, {"role_arn": "landing"}, {"role_arn": "arn:aws:iam::1:role/x"}]
)
def test_an_incomplete_role_is_refused(cloud: Cloud, access: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        build(cloud, **access)

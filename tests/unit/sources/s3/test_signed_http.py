"""Requests as a server receives them: signed as botocore would sign them."""

import datetime
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import botocore.session
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError, NoCredentialsError

from headwater.sources.s3 import signed_http
from headwater.sources.s3.aws import error_code, error_status
from headwater.sources.s3.signed_http import NoAnswerError, SignedHttp
from headwater.sources.s3.sqs_protocol import SqsCall, build_sqs_call
from tests.fixtures.waiting import wait_until

KEYS = ("AKIA:with/odd+signs", "secret/with+odd=signs")
Reply = Callable[["Handler"], tuple[int, bytes]]


class Handler(BaseHTTPRequestHandler):
    """Keeps what it receives; `reply` of the server chooses the response."""

    protocol_version = "HTTP/1.1"
    server: "Server"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((dict(self.headers), body))
        self.server.ports.add(self.client_address[1])
        status, content = self.server.reply(self)
        with suppress(ConnectionError):  # a client that gave up
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, reply: Reply) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply = reply
        self.received: list[tuple[dict[str, str], bytes]] = []
        self.ports: set[int] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serve(reply: Reply = lambda _: (200, b"{}")) -> Iterator[Server]:
    with Server(reply) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def count_open(server: Server) -> int:
    """How many of its connections the client has not closed."""
    states = Path("/proc/net/tcp").read_text().splitlines()[1:]
    own, established = f":{server.server_port:04X}", "01"
    return sum(fields[1].endswith(own) and fields[3] == established for fields in map(str.split, states))


def build_session(token: str | None = None) -> botocore.session.Session:
    session = botocore.session.Session()
    session.set_credentials(*KEYS, token)
    return session


def build_http(token: str | None = None, **options: int) -> SignedHttp:
    return SignedHttp(build_session(token), "sqs", "eu-west-1", **options)


def build_call(server: Server) -> SqsCall:
    return build_sqs_call(build_http(), server.url)


@pytest.mark.parametrize("token", [None, "a/session+token=="])
def test_a_request_has_the_signature_that_botocore_computes(token: str | None) -> None:
    body = '{"QueueUrl":"http://x/1/q","ünï":"€"}'.encode()
    with serve() as server:
        build_http(token).post(
            f"{server.url}/",
            ["Content-Type: application/x-amz-json-1.0", "X-Amz-Target: AmazonSQS.Any"],
            body,
        )
        headers, received = server.received[0]
    assert received == body
    authorization = headers["Authorization"]
    signed = authorization.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    assert {"content-type", "host", "x-amz-date", "x-amz-target"} <= set(signed)
    assert ("x-amz-security-token" in signed) == (token is not None)
    request = AWSRequest("POST", f"{server.url}/", data=body)
    lower = {name.lower(): value for name, value in headers.items()}
    for name in signed:
        request.headers[name] = lower[name]
    request.context["timestamp"] = lower["x-amz-date"]
    signer = SigV4Auth(Credentials(*KEYS, token), "sqs", "eu-west-1")
    expected = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    assert authorization.endswith(f"Signature={expected}")
    sent_at = datetime.datetime.strptime(lower["x-amz-date"], "%Y%m%dT%H%M%SZ")
    assert (
        abs((datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) - sent_at).total_seconds())
        < 60
    )


def test_renewed_credentials_sign_the_next_request() -> None:
    session = build_session("first")
    with serve() as server:
        http = SignedHttp(session, "sqs", "eu-west-1")
        http.post(server.url, [], b"{}")
        credentials = session.get_credentials()
        assert credentials is not None
        credentials.access_key, credentials.token = "AKIARENEWED", None
        http.post(server.url, [], b"{}")
    (_, first), (_, second) = [(None, headers) for headers, _ in server.received]
    assert first["X-Amz-Security-Token"] == "first"
    assert "X-Amz-Security-Token" not in second
    assert "Credential=AKIARENEWED/" in second["Authorization"]


def test_no_credentials_is_botocores_error(monkeypatch: pytest.MonkeyPatch) -> None:
    session = botocore.session.Session()
    monkeypatch.setattr(session, "get_credentials", lambda: None)
    with pytest.raises(NoCredentialsError):
        SignedHttp(session, "sqs", "eu-west-1").post("http://127.0.0.1:1", [], b"{}")


def test_connections_are_as_many_as_requests_at_a_time_and_outlive_threads() -> None:
    """Each batch of a table has threads of its own: none of them should have to shake hands again."""
    together = threading.Barrier(2)

    def wait_for_the_other(_: Handler) -> tuple[int, bytes]:
        together.wait(10)
        return 200, b"{}"

    with serve(wait_for_the_other) as server:
        http = build_http()
        for _ in range(3):
            threads = [threading.Thread(target=http.post, args=(server.url, [], b"{}")) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert len(server.received) == 6
        assert len(server.ports) == 2


def test_connections_of_a_burst_are_closed_when_they_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signed_http, "_UNUSED_SECONDS", 0.2)
    together = threading.Barrier(4)

    def wait_for_all(_: Handler) -> tuple[int, bytes]:
        together.wait(10)
        return 200, b"{}"

    with serve(wait_for_all) as server:
        http = build_http()
        threads = [threading.Thread(target=http.post, args=(server.url, [], b"{}")) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert count_open(server) == 4
        server.reply = lambda _: (200, b"{}")
        time.sleep(0.3)
        for _ in range(4):
            assert http.post(server.url, [], b"{}").status == 200
        wait_until(lambda: count_open(server) == 1, "the end of the others")
        # Those in use stay.
        assert len(server.ports) == 4


def test_a_server_that_closed_the_connection_is_called_again() -> None:
    def hang_up(handler: Handler) -> tuple[int, bytes]:
        handler.close_connection = True
        return 200, b"{}"

    with serve(hang_up) as server:
        http = build_http()
        for _ in range(3):
            assert http.post(server.url, [], b"{}").status == 200
        assert len(server.ports) == 3


def test_nobody_at_the_address_is_an_error_with_its_cause() -> None:
    with serve() as server:
        url = server.url
    with pytest.raises(NoAnswerError, match=r"[Cc]onnect"):
        build_http().post(url, [], b"{}")


def test_a_silent_server_is_given_up() -> None:
    def sleep(_: Handler) -> tuple[int, bytes]:
        time.sleep(4)
        return 200, b"{}"

    with serve(sleep) as server, pytest.raises(NoAnswerError, match=r"[Tt]oo slow"):
        build_http(silent_seconds=1).post(server.url, [], b"{}")


def test_certificates_are_those_of_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", "/nowhere/company.pem")
    with serve() as server, pytest.raises(NoAnswerError, match=r"/nowhere/company.pem"):
        build_http().post(server.url.replace("http:", "https:"), [], b"{}")


def test_a_large_body_is_sent_at_once() -> None:
    """libcurl would first ask with `Expect: 100-continue`, and wait a second for servers that say nothing."""
    with serve() as server:
        build_call(server)("DeleteMessageBatch", {"text": "x" * 3_000_000})
        headers, body = server.received[0]
    assert "Expect" not in headers
    assert len(body) > 3_000_000
    assert headers["X-Amz-Target"] == "AmazonSQS.DeleteMessageBatch"
    assert headers["User-Agent"] == signed_http.USER_AGENT


def test_half_of_a_surrogate_pair_arrives() -> None:
    with serve(lambda _: (200, rb'{"Body": "\ud83d"}')) as server:
        assert build_call(server)("ReceiveMessage", {}) == {"Body": "\ud83d"}


@pytest.mark.parametrize("content", [b"<html>log in first</html>", b"[]", b"", b"\xff"])
def test_a_response_that_is_not_of_sqs_is_no_answer(content: bytes) -> None:
    with serve(lambda _: (200, content)) as server, pytest.raises(NoAnswerError, match="JSON"):
        build_call(server)("ReceiveMessage", {})


@pytest.mark.parametrize(
    ("content", "code", "text"),
    [
        (b'{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"none"}', "QueueDoesNotExist", "none"),
        (b'{"__type":"AWS.SimpleQueueService.NonExistentQueue","Message":"no"}', "NonExistentQueue", "no"),
        (b'{"__type":"AccessDeniedException"}', "AccessDeniedException", "__type"),
        (b"<html>Bad Gateway</html>", "HTTP 502", "Bad Gateway"),
        (b"[]", "HTTP 502", "[]"),
        (b"\xff", "HTTP 502", "\ufffd"),
    ],
)
def test_what_sqs_refuses_is_botocores_error(content: bytes, code: str, text: str) -> None:
    status = 502 if code == "HTTP 502" else 400
    with serve(lambda _: (status, content)) as server, pytest.raises(ClientError) as caught:
        build_call(server)("ReceiveMessage", {})
    assert error_code(caught.value) == code
    assert error_status(caught.value) == status
    assert text in str(caught.value)
    assert "ReceiveMessage" in str(caught.value)

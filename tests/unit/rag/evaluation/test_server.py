"""A server that is asked the queries of a judged set: busy, broken, or another one."""

import pytest

from headwater.errors import SearchError, UsageError
from headwater.rag.evaluation.judged import JudgedQuery
from headwater.rag.evaluation.server import SearchServer, run_server
from tests.fixtures.free_port import find_free_port
from tests.fixtures.search.api import build_shop_api, make_key
from tests.fixtures.search.api import run_server as run_api
from tests.fixtures.search.scripted_server import HITS, answering


def test_each_query_is_asked_with_the_key_below_the_path_of_a_proxy() -> None:
    with answering((200, "", HITS)) as (server, address):
        found = run_server(SearchServer(f"{address}/shop/", "secret"), [JudgedQuery("a", "ä lamp")])
    assert found == {"a": ["7", "p2"]}
    assert server.requests == [("/shop/search", "Bearer secret", {"query": "ä lamp", "limit": 20})]


def test_our_own_server_answers_with_its_rows() -> None:
    with run_api(build_shop_api(keys=(make_key("shop", "secret"),))) as address:
        assert "p1" in SearchServer(address, "secret").search("headphones for swimming")
        assert SearchServer(address, "secret").search("") == []
        with pytest.raises(SearchError, match="answers with status 401") as caught:
            SearchServer(address, "another").search("headphones")
    assert "set HEADWATER_API_KEY" in caught.value.hint


def test_a_busy_server_is_asked_again_after_its_pause() -> None:
    pauses: list[float] = []
    busy = [(429, "3", ""), (503, "", ""), (503, "9999", ""), (504, "Mon, 01 Jan 2029 00:00:00 GMT", "")]
    with answering(*busy, (200, "", HITS)) as (server, address):
        assert SearchServer(address, sleep=pauses.append).search("lamp") == ["7", "p2"]
    assert pauses == [3, 1, 30, 1]
    assert len(server.requests) == 5


def test_a_server_that_stays_busy_ends_the_evaluation() -> None:
    pauses: list[float] = []
    with (
        answering((503, "2", "")) as (server, address),
        pytest.raises(SearchError, match="answers with status 503") as caught,
    ):
        SearchServer(address, sleep=pauses.append).search("lamp")
    assert (len(server.requests), sum(pauses)) == (6, 10)
    assert "repeat the command" in caught.value.hint


def test_a_query_that_the_server_rejects_finds_nothing() -> None:
    with answering((422, "", "{}")) as (_, address):
        assert SearchServer(address).search("") == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((200, "", "<html>"), "does not answer as `headwater serve` does"),
        ((200, "", "[]"), "does not answer as `headwater serve` does"),
        ((200, "", '{"hits": [{}]}'), "does not answer as `headwater serve` does"),
        ((404, "", ""), "answers with status 404"),
        ((500, "", ""), "answers with status 500"),
        ((403, "", ""), "answers with status 403"),
    ],
)
def test_another_server_or_a_failing_one_is_an_error(answer: tuple[int, str, str], message: str) -> None:
    with answering(answer) as (server, address), pytest.raises(SearchError, match=message):
        SearchServer(address).search("lamp")
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_key_does_not_follow_a_redirect(status: int) -> None:
    with (
        answering((200, "", HITS)) as (other, elsewhere),
        answering((status, elsewhere, "")) as (_, address),
        pytest.raises(SearchError, match=f"answers with status {status}") as caught,
    ):
        SearchServer(address, "secret").search("lamp")
    assert caught.value.hint == f"specify the address that it redirects to: {elsewhere}"
    assert other.requests == []


def test_no_server_is_an_error() -> None:
    with pytest.raises(SearchError, match=r"does not answer: .*refused"):
        SearchServer(f"http://127.0.0.1:{find_free_port()}").search("lamp")


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://host", "file:///etc/passwd", "http://", ""])
def test_only_addresses_of_http_are_taken(url: str) -> None:
    with pytest.raises(UsageError, match="is not the address of a server"):
        SearchServer(url)

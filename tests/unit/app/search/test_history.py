"""What is answered as of an instant while there is an index and no lake."""

from pathlib import Path

import pytest

from headwater.app.search.live import LiveSearch
from headwater.errors import AsOfUnavailableError, HeadwaterError, IndexUnavailableError
from headwater.rag.retrieval.query import SearchQuery
from tests.fixtures.search.api import open_shop
from tests.fixtures.search.served_lake import ServedLake
from tests.fixtures.search.shop import AS_OF

BEFORE = "20261121115959999"
AFTER = "20261121120000001"


@pytest.fixture
def live(tmp_path: Path):
    lake = ServedLake(tmp_path)
    lake.configure()
    lake.fill()
    found = LiveSearch(lake.open_index(), syncs=False)
    found.open()  # of the lake it only logs that it is away
    yield found
    found.close()


def test_the_commit_of_the_live_index_is_answered_by_it(live):
    now = live.search(SearchQuery("headphones"))
    then = live.search(SearchQuery("headphones", as_of=AS_OF))
    assert then.rows
    assert then.rows == now.rows
    assert (then.as_of, then.index_version, then.complete_at) == (AS_OF, "v0001", None)


@pytest.mark.parametrize("asked", [AFTER, "99991231235959999", "yesterday", "20261399000000000"])
def test_future_and_invalid_instants_are_rejected_without_the_lake(live, asked):
    with pytest.raises(AsOfUnavailableError, match=AS_OF):
        live.search(SearchQuery("headphones", as_of=asked))


def test_an_earlier_commit_needs_the_lake(live):
    with pytest.raises(IndexUnavailableError, match="cannot be read") as refused:
        live.search(SearchQuery("headphones", as_of=BEFORE))
    assert refused.value.retryable
    assert isinstance(refused.value.__cause__, HeadwaterError)


def test_error_names_available_instants_and_no_paths(live):
    with open_shop(live) as client:
        for path in ("/search", "/recommend"):
            body = {"query": "headphones", "as_of": AFTER}
            refused = client.post(path, json=body)
            assert (refused.status_code, refused.json()["code"]) == (422, "as_of_unavailable")
            assert AS_OF in refused.json()["detail"]
            away = client.post(path, json={**body, "as_of": BEFORE})
            assert (away.status_code, away.json()["code"]) == (503, "index_unavailable")
            assert "detail" not in away.json()
            assert client.post(path, json={**body, "as_of": AS_OF}).json()["as_of"] == AS_OF

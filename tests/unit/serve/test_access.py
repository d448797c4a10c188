"""Who may ask what: keys, tenants, scopes, rates, origins."""

import pytest

from headwater.config.search.keys import find_key, parse_api_keys
from headwater.errors import ConfigError
from tests.fixtures.search.api import make_key, open_shop
from tests.fixtures.search.shop import Item, ShopSearcher

HASH = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"  # of "secret"
SWIM = {"query": "headphones for swimming"}


def test_keys_are_read_from_the_environment_s_text():
    shop, ops = parse_api_keys(f"shop:{HASH}:acme, ops:{HASH.upper()}::admin")
    assert (shop.name, shop.tenant, shop.is_admin) == ("shop", "acme", False)
    assert (ops.name, ops.tenant, ops.is_admin) == ("ops", None, True)
    assert find_key([shop], "secret") == shop
    assert find_key([shop], "Secret") is None
    assert parse_api_keys("") == ()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("shop", "the SHA-256 in hex"),
        ("shop:secret", "the SHA-256 in hex"),
        (f"sh op:{HASH}", "the name"),
        (f"shop:{HASH}:a:root", "unknown scope 'root'"),
        (f"shop:{HASH},shop:{HASH}", "two keys"),
        (f"shop:{HASH}:a:admin:x", "the SHA-256 in hex"),
    ],
)
def test_invalid_keys_are_reported_without_their_text(text, what):
    with pytest.raises(ConfigError, match=what) as caught:
        parse_api_keys(text)
    assert "secret" not in caught.value.message
    assert HASH not in str(caught.value)


@pytest.mark.parametrize("text", ["", f"shop:{HASH}", f"a:{HASH}:t,b:{HASH}"])
def test_tenants_need_keys_that_name_them(text):
    with pytest.raises(ConfigError, match="each key must name a tenant"):
        parse_api_keys(text, needs_tenant=True)


@pytest.mark.parametrize(
    "headers", [{"Authorization": "Bearer good"}, {"X-API-Key": "good"}, {"authorization": "bearer good"}]
)
def test_a_key_lets_in(headers):
    with open_shop(keys=(make_key("shop", "good"),)) as client:
        assert client.post("/search", json=SWIM, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "key_missing"),
        ({"X-API-Key": "bad"}, "key_wrong"),
        ({"X-API-Key": "x" * 9_000}, "key_wrong"),
        ({"Authorization": "Basic good"}, "key_missing"),
    ],
)
@pytest.mark.parametrize(
    "path",
    [
        "/search",
        "/recommend",
        "/products/p1/similar",
        "/status",
        "/metrics",
        "/page/setup",
        "/page/search",
        "/page/similar/p1",
    ],
)
def test_requests_without_a_key_are_rejected(path, headers, code):
    with open_shop(keys=(make_key("shop", "good"),)) as client:
        method = "POST" if path in {"/search", "/recommend", "/page/search"} else "GET"
        answer = client.request(method, path, json=SWIM if method == "POST" else None, headers=headers)
        assert client.get("/healthz").status_code == 200
        assert client.get("/").status_code == 200
    assert (answer.status_code, answer.json()["code"]) == (401, code)
    assert answer.headers["WWW-Authenticate"] == "Bearer"


A, B = {"X-API-Key": "of a"}, {"X-API-Key": "of b"}
KEYS = (
    make_key("a", "of a", "acme"),
    make_key("b", "of b", "bolt"),
    make_key("o", "of o", "acme", is_admin=True),
)
TENANTS = ShopSearcher(
    [
        Item(
            "a1", "Acme headphones", "Acme headphones for swimming.", {"brand": "Acme", "price": 10}, "acme"
        ),
        Item(
            "b1", "Bolt headphones", "Bolt headphones for swimming.", {"brand": "Bolt", "price": 20}, "bolt"
        ),
        Item("n1", "No headphones", "Headphones for swimming of nobody.", {"brand": "No", "price": 30}),
    ]
)


@pytest.mark.parametrize(("headers", "own"), [(A, "a1"), (B, "b1")])
def test_a_tenant_sees_its_own_rows_only(headers, own):
    other = "b1" if own == "a1" else "a1"
    with open_shop(TENANTS, keys=KEYS) as client:
        found = client.post("/search", json={**SWIM, "limit": 50}, headers=headers).json()
        assert [hit["id"] for hit in found["hits"]] == [own]
        said = client.post("/recommend", json=SWIM, headers=headers).json()
        assert [item["id"] for item in said["products"]] == [own]
        assert client.get(f"/products/{own}/similar", headers=headers).json()["hits"] == []
        assert client.get(f"/products/{other}/similar", headers=headers).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"filters": {"tenant": "bolt"}},
        {"filters": {"tenant": {"in": ["acme", "bolt"]}}},
        {"tenant": "bolt"},
        {"filters": {"brand": {"ne": "Acme"}}},
        {"filters": {"brand": ["Acme", "Bolt"]}},
    ],
)
def test_a_tenant_cannot_ask_for_another_one_s_rows(body):
    with open_shop(TENANTS, keys=KEYS) as client:
        # Not an id made up: it could hold anything.
        answer = client.post("/search", json={**SWIM, **body}, headers={**A, "X-Request-Id": "mine"})
    assert "Bolt" not in answer.text.replace('"Bolt"]', "")
    assert "b1" not in answer.text


def test_the_pipeline_is_not_for_a_tenant_s_key():
    with open_shop(TENANTS, keys=KEYS) as client:
        for path in ("/status", "/metrics"):
            assert client.get(path, headers=A).json()["code"] == "forbidden"
            assert client.get(path, headers={"X-API-Key": "of o"}).status_code == 200


def test_scores_as_they_are_need_the_scope():
    body = {**SWIM, "raw_scores": True}
    with open_shop(TENANTS, keys=KEYS) as client:
        assert client.post("/search", json=body, headers=A).json()["code"] == "forbidden"
        [hit] = client.post("/search", json=body, headers={"X-API-Key": "of o"}).json()["hits"]
    assert 0 < hit["score"] < 1


def test_each_key_has_its_rate():
    with open_shop(TENANTS, keys=KEYS, requests_per_minute=3) as client:
        answers = [client.post("/search", json=SWIM, headers=A) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert client.post("/search", json=SWIM, headers=B).status_code == 200
        # Whoever guesses keys is limited by address.
        wrong = [client.post("/search", json=SWIM, headers={"X-API-Key": f"{n}"}) for n in range(4)]
        assert [answer.status_code for answer in wrong] == [401, 401, 401, 429]
        assert client.get("/healthz").status_code == 200
    assert (answers[3].json()["code"], int(answers[3].headers["Retry-After"]) > 0) == ("rate_limited", True)


def test_other_origins_are_shut_out_unless_named():
    preflight = {"Origin": "https://shop.example", "Access-Control-Request-Method": "POST"}
    with open_shop() as client:
        assert "Access-Control-Allow-Origin" not in client.options("/search", headers=preflight).headers
    with open_shop(cors_origins=("https://shop.example",)) as client:
        allowed = client.options("/search", headers=preflight).headers
        assert allowed["Access-Control-Allow-Origin"] == "https://shop.example"
        other = client.options("/search", headers={**preflight, "Origin": "https://evil.example"})
        assert "Access-Control-Allow-Origin" not in other.headers

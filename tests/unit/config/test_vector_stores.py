"""The section `search.store`: which server, and no secrets in the file."""

import pytest
from pydantic import ValidationError

from headwater.config.search.index import StoreConfig

URL = "postgresql://headwater@db:5432/shop"


@pytest.mark.parametrize("url", [URL, "postgres://db/shop?sslmode=require", "postgresql://db1,db2:5433/shop"])
def test_a_database_is_a_store_for_several_processes(url: str) -> None:
    assert StoreConfig(type="pgvector", url=url).is_server


@pytest.mark.parametrize(
    ("store", "message"),
    [
        ({"type": "pgvector"}, "require each other"),
        ({"type": "local", "url": URL}, "require each other"),
        ({"type": "pgvector", "url": "http://db:5432"}, "must begin with postgresql://"),
        ({"type": "pgvector", "url": "postgresql://me:secret@db/shop"}, "HEADWATER_PGVECTOR_PASSWORD"),
        ({"type": "pgvector", "url": "postgresql://db/shop?user=me&password=secret"}, "must not contain"),
        ({"type": "pgvector", "url": "postgresql://db/shop?sslpassword=secret"}, "must not contain"),
        ({"type": "pgvector", "url": URL, "collection": "x" * 64}, "63 characters"),
        ({"type": "pgvector", "url": URL, "collection": "pg_shop"}, "must not begin with pg_"),
    ],
)
def test_an_unusable_store_is_explained(store: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationError, match=message) as caught:
        StoreConfig.model_validate(store)
    assert all("secret" not in error["msg"] for error in caught.value.errors())

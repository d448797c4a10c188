"""Resources are named after bucket and prefix, within the limits of all vendors."""

import re

import pytest

from headwater.sources.planning.names import MAX_NAME, derive_name

SAFE = re.compile(r"[A-Za-z0-9_-]+")


def test_a_bucket_alone_gives_a_name_that_people_can_read() -> None:
    assert derive_name("acme-landing") == "headwater-acme-landing"


@pytest.mark.parametrize(
    ("bucket", "prefix"), [("a.b", ""), ("acme", "in/"), ("b" * 63, "long/" * 50), ("acme", "ä ö/\ud800")]
)
def test_any_bucket_and_prefix_give_a_name_that_vendors_take(bucket: str, prefix: str) -> None:
    name = derive_name(bucket, prefix)
    assert SAFE.fullmatch(name)
    assert len(name) <= MAX_NAME
    assert name == derive_name(bucket, prefix)


def test_similar_prefixes_give_different_names() -> None:
    names = {derive_name("acme", prefix) for prefix in ("", "in", "in/", "in//", "in.", "IN/")}
    assert len(names) == 6


def test_a_bucket_that_is_called_like_bucket_and_prefix_gets_another_name() -> None:
    assert derive_name("acme-in") != derive_name("acme", "in")

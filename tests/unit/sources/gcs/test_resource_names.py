"""Topics and subscriptions are named after bucket and prefix, or as configured."""

import pytest

from headwater.config.source import GcsSourceConfig
from headwater.sources.gcs.resource_names import Addresses


def name_all(**fields: object) -> list[str]:
    source = GcsSourceConfig.model_validate({"type": "gcs", "bucket": "acme", **fields})
    return list(Addresses.of(source, "p").by_kind.values())


@pytest.mark.parametrize(
    ("fields", "topic", "subscription"),
    [
        ({}, "headwater-acme", "headwater-acme"),
        ({"subscription": "landing"}, "landing", "landing"),
        ({"subscription": "projects/p/subscriptions/landing"}, "landing", "landing"),
        ({"resources": {"topic": "events"}}, "events", "headwater-acme"),
        ({"subscription": "landing", "resources": {"topic": "events"}}, "events", "landing"),
    ],
)
def test_names(fields: dict[str, object], topic: str, subscription: str) -> None:
    assert name_all(**fields) == [
        f"projects/p/topics/{topic}-dead",
        f"projects/p/subscriptions/{subscription}-dead",
        f"projects/p/topics/{topic}",
        f"projects/p/subscriptions/{subscription}",
    ]


def test_the_longest_name_leaves_room_for_the_dead_letters() -> None:
    assert max(len(name.rpartition("/")[2]) for name in name_all(subscription="s" * 255)) == 255

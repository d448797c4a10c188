"""Which changes of a configuration a running process can apply."""

from typing import Any

import pytest

from headwater.app.reload.changes import FIXED, find_changes, keep_fixed
from headwater.config.settings import Settings
from headwater.config.source import S3SourceConfig

BASE: dict[str, Any] = {
    "source": {
        "type": "s3",
        "bucket": "landing",
        "queue": {"url": "https://sqs.eu-west-1.amazonaws.com/1/q"},
    },
    "lake": "s3a://lake/bronze",
    "tables": {"orders": {"path": "orders/*.json"}},
}


def build(**changes: Any) -> Settings:
    return Settings.model_validate(BASE | changes)


@pytest.mark.parametrize(
    ("changes", "applicable", "fixed"),
    [
        ({}, (), ()),
        (
            {"tables": {"orders": {"path": "orders/*.csv"}, "users": {"path": "users/*.json"}}},
            ("tables.orders.path", "tables.users"),
            (),
        ),
        ({"tables": {"users": {"path": "users/*.json"}}}, ("tables.orders", "tables.users"), ()),
        ({"reconcile": {"max_requests_per_second": 5}}, ("reconcile.max_requests_per_second",), ()),
        (
            {"source": BASE["source"] | {"bucket": "other", "queue": {"receivers": 2}}},
            ("source.queue.receivers", "source.queue.url"),
            ("source.bucket",),
        ),
        ({"spark": {"driver_memory": "3g"}, "lake": "s3a://lake/other"}, (), ("lake", "spark.driver_memory")),
        (
            {"source": {"type": "local", "path": "/landing"}},
            (),
            # What the other type has and has not, too.
            (
                *("source.bucket", "source.clean_source_tags", "source.file_system_scheme"),
                *("source.notifications", "source.path", "source.prefix", "source.queue"),
                *("source.resources", "source.settle_seconds", "source.type"),
            ),
        ),
    ],
)
def test_changed_keys_are_named_by_their_path(changes, applicable, fixed) -> None:
    found = find_changes(build(), build(**changes))
    assert (found.applicable, found.fixed) == (applicable, fixed)


def test_fixed_keys_keep_their_value_and_the_others_change() -> None:
    new = build(
        source=BASE["source"] | {"bucket": "other", "prefix": "in/"},
        spark={"driver_memory": "3g"},
        stop_timeout=99,
        tables={"users": {"path": "users/*.json"}},
    )
    kept = keep_fixed(build(), new)
    assert find_changes(build(), kept).fixed == ()
    assert find_changes(new, kept).applicable == ()
    assert isinstance(kept.sources[0], S3SourceConfig)
    assert (kept.sources[0].type, kept.sources[0].bucket, kept.sources[0].prefix) == ("s3", "landing", "in/")
    assert list(kept.tables) == ["users"]


def test_a_source_of_another_type_waits_for_a_restart() -> None:
    new = build(source={"type": "local", "path": "/landing"}, reconcile={"max_requests_per_second": 5})
    kept = keep_fixed(build(), new)
    assert kept.sources[0] == build().source
    assert kept.reconcile == new.reconcile


def test_each_fixed_key_exists() -> None:
    sections = {key.partition(".")[0] for key in FIXED}
    assert sections <= Settings.model_fields.keys()

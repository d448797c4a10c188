"""Several sources: the scope of a table, the queues of a run, and the names of sources."""

from typing import Any

import pytest

from headwater.app.lineage.graph import build_lineage
from headwater.app.objects.explain import parse_uri
from headwater.app.reload.changes import find_changes, keep_fixed
from headwater.app.roles import choose_roles
from headwater.app.scope import build_scope, choose_sources, group_by_queue, label_source, rename_moved
from headwater.capture.captured_event import CapturedEvent
from headwater.capture.stored_event import EventPage
from headwater.config.settings import Settings
from headwater.errors import UsageError
from headwater.ingest.planning.plan import Limits, take_batch
from headwater.lake.prerequisites.spark_settings import build_spark_settings
from tests.fixtures.events import START, build_event, build_stored

EAST = {"name": "east", "type": "s3", "bucket": "e", "prefix": "in/"}
WEST = {"name": "west", "type": "s3", "bucket": "w", "moved_from": "old"}
FILES = {"name": "files", "type": "local", "path": "/data/in"}
TABLES = {"all": {"path": "a/*.json"}, "some": {"path": "a/*.json", "source": "east"}}


def build(*sources: dict[str, Any], **tables: Any) -> Settings:
    return Settings.model_validate({"source": sources, "lake": "s3a://lake", "tables": tables or TABLES})


@pytest.fixture
def settings() -> Settings:
    return build(EAST, WEST, FILES)


def test_keys_are_relative_to_the_prefix_of_their_own_source(settings: Settings) -> None:
    scope = build_scope(settings, "all")
    assert scope.relative_key("e", "in/a/1.json") == "a/1.json"
    assert scope.relative_key("old", "in/a/1.json") == "in/a/1.json"
    cases = {("e", "in/a/1.json"), ("old", "a/1.json"), ("/data/in", "a/1.json")}
    others = {("e", "a/1.json"), ("old", "in/a/1.json"), ("w", "a/1.json"), ("x", "a/1.json")}
    assert {case for case in cases | others if scope.includes(*case)} == cases
    assert set(scope.full_beginnings) == {"a/", "in/a/"}


def test_an_event_of_a_source_that_the_table_leaves_out_is_filtered_not_foreign(settings: Settings) -> None:
    keys = (("e", "in/a/1.json"), ("old", "a/1.json"), ("stranger", "a/1.json"))
    events = [build_stored(build_event(bucket=bucket, key=key), at) for at, (bucket, key) in enumerate(keys)]
    page = EventPage(tuple(events), events[-1].position, more=False)
    found = {name: take_batch(page, build_scope(settings, name), Limits(10, 2**30)) for name in TABLES}
    assert [stored.event.bucket for stored in found["all"].events] == ["e", "old"]
    assert [stored.event.bucket for stored in found["some"].events] == ["e"]
    assert (found["some"].filtered, found["some"].foreign) == (1, {"stranger": 1})


def test_sources_with_the_same_queue_have_one_consumer() -> None:
    queue = {"url": "https://sqs.eu-west-1.amazonaws.com/1/all"}
    one, other = {**EAST, "queue": queue}, {**WEST, "queue": queue}
    third = {"name": "third", "type": "s3", "bucket": "t"}
    found = group_by_queue(build(one, other, third, FILES).sources)
    assert [[source.name for source in group] for group in found] == [["east", "west"], ["third"], ["files"]]


def test_events_of_every_moved_bucket_are_renamed(settings: Settings) -> None:
    captured = [CapturedEvent(build_event(bucket=bucket), START, "m") for bucket in ("e", "w", "x")]
    assert [found.event.bucket for found in rename_moved(settings, captured)] == ["e", "old", "x"]


def test_a_source_is_named_only_among_several(settings: Settings) -> None:
    assert [label_source(settings, source) for source in settings.sources] == ["east", "west", "files"]
    alone = build(EAST, all=TABLES["all"])
    assert label_source(alone, alone.sources[0]) == ""
    assert [source.name for source in choose_sources(settings, "west")] == ["west"]
    with pytest.raises(UsageError, match="no source 'wst'") as caught:
        choose_sources(settings, "wst")
    assert caught.value.hint == "configured sources: east, west, files"


@pytest.mark.parametrize(
    ("uri", "name", "key"),
    [
        ("s3://e/in/a/1.json", "east", "in/a/1.json"),
        ("s3a://old/a/1.json", "west", "a/1.json"),
        ("s3://w/a/1.json", "west", "a/1.json"),
        ("/data/in/a/1.json", "files", "a/1.json"),
    ],
)
def test_an_address_is_of_one_source(settings: Settings, uri: str, name: str, key: str) -> None:
    source, found = parse_uri(uri, settings)
    assert (source.name, found) == (name, key)


@pytest.mark.parametrize("uri", ["a/1.json", "s3://x/a", "gs://e/a", "/data/other"])
def test_a_key_alone_or_another_address_is_refused(settings: Settings, uri: str) -> None:
    with pytest.raises(UsageError, match="not an address in one of the sources") as caught:
        parse_uri(uri, settings)
    assert caught.value.hint == "the sources are s3://e/in/, s3://old/, /data/in"


def test_prefixes_of_one_bucket_are_told_apart_by_the_key() -> None:
    other = {**EAST, "name": "other", "prefix": "out/"}
    found = [
        parse_uri(f"s3://e/{key}", build(EAST, other, all=TABLES["all"]))[0].name for key in ("out/a", "in/a")
    ]
    assert found == ["other", "east"]


def test_one_process_captures_if_a_source_is_a_folder(settings: Settings) -> None:
    capture = choose_roles(settings, ["capture"])
    assert "events" in capture.list_written(settings)
    queues = build(EAST, WEST)
    assert "events" in choose_roles(queues, ["capture"]).list_shared(queues)


def test_the_lineage_has_every_source(settings: Settings) -> None:
    lineage = build_lineage(settings)
    sources = [node.name for node in lineage.nodes if node.kind == "source"]
    assert sources == ["s3://e/in/", "s3://old/", "/data/in"]
    assert {edge.source for edge in lineage.edges if edge.target == "events"} == set(sources)


def test_spark_knows_the_endpoint_of_every_bucket() -> None:
    east = {**EAST, "endpoint": "http://e:1"}
    west = {**WEST, "endpoint": "http://w:2"}
    found = build_spark_settings(build(east, west, all=TABLES["all"]))
    assert found["spark.hadoop.fs.s3a.bucket.e.endpoint"] == "http://e:1"
    assert found["spark.hadoop.fs.s3a.bucket.w.endpoint"] == "http://w:2"


def test_a_running_process_keeps_its_sources(settings: Settings) -> None:
    changed = build(EAST, {**WEST, "prefix": "new/"}, FILES)
    assert find_changes(settings, changed).fixed == ("source",)
    assert keep_fixed(settings, changed).sources == settings.sources

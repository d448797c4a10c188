"""What every source does as a whole, run on a folder and on S3 as a real server process."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from headwater.config.source import SourceConfig
from headwater.errors import HeadwaterError, UsageError
from headwater.observability.clock import SystemClock
from headwater.sources.object_store import ObjectRef
from headwater.sources.registry import build_object_store, build_source
from headwater.sources.source import Source
from tests.fixtures.azure import Container
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.google import PubSub, Storage

KINDS = ("local", "s3", "gcs", "azure")


@dataclass(frozen=True)
class Place:
    """A source with the means to change it from outside; `prefix` is that of addresses in it,
    `moved_prefix` that of the previous location, if objects can move."""

    provider: str
    location: str
    prefix: str
    moved_prefix: str | None
    source: Source
    missing: Source
    put: Callable[[str, bytes], object]


def build(**fields: object) -> Source:
    return build_source(TypeAdapter(SourceConfig).validate_python(fields))


def build_gcs(storage: Storage, pubsub: PubSub) -> Place:
    access: dict[str, object] = {
        "type": "gcs",
        "endpoint": storage.endpoint,
        "subscription": storage.subscription,
        "queue": {"endpoint": pubsub.endpoint},
    }
    return Place(
        "gcs",
        storage.bucket,
        f"gs://{storage.bucket}/",
        None,
        build(**access, bucket=storage.bucket),
        build(**access, bucket="missing-bucket"),
        storage.put,
    )


def build_azure(container: Container) -> Place:
    access = container.source
    return Place(
        "azure",
        container.name,
        f"abfs://{container.name}/",
        None,
        build(**access),
        build(**{**access, "container": "missing-container"}),
        container.put,
    )


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    if request.param == "local":
        folder = tmp_path / "landing"
        folder.mkdir()
        source = build(type="local", path=folder, moved_from=tmp_path / "old")
        missing = build(type="local", path=tmp_path / "missing")

        def write(key: str, data: bytes) -> None:
            (folder / key).parent.mkdir(parents=True, exist_ok=True)
            (folder / key).write_bytes(data)

        return Place("local", str(folder), f"{folder}/", f"{tmp_path}/old/", source, missing, write)
    if request.param == "gcs":
        return build_gcs(request.getfixturevalue("notified_gcs"), request.getfixturevalue("pubsub"))
    if request.param == "azure":
        return build_azure(request.getfixturevalue("notified_container"))
    emulator: EmulatorSession = request.getfixturevalue("emulator")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    zone = emulator.create_landing_zone()
    access = {"type": "s3", "endpoint": emulator.endpoint, "region": "us-east-1"}
    queue = {"url": zone.queue_url, "region": "us-east-1"}
    return Place(
        "s3",
        zone.bucket,
        f"s3://{zone.bucket}/",
        "s3://old/",
        build(**access, bucket=zone.bucket, moved_from="old", queue=queue),
        build(**access, bucket=f"{zone.bucket}-missing", queue=queue),
        lambda key, data: emulator.clients.s3.put_object(Bucket=zone.bucket, Key=key, Body=data),
    )


def test_listed_objects_can_be_read_with_the_store_of_the_source(place: Place) -> None:
    place.put("a b/1+2%41.json", b"{}")
    with place.source.open_lister(lambda: None) as lister:
        (listed,) = lister.iter_objects()
    ref = ObjectRef(place.provider, place.location, listed.key, None, listed.etag, listed.size)
    assert build_object_store(place.source.build_store_config()).read(ref, 100).data == b"{}"


@pytest.mark.parametrize("key", ["a.json", "a b/#1?.json", "ä/100%.json"])
def test_address_and_key_name_the_same_object(place: Place, key: str) -> None:
    assert place.source.parse_address(key) == key
    assert place.source.parse_address(f"{place.prefix}{key}") == key


def test_objects_that_were_moved_have_two_addresses(place: Place) -> None:
    if place.moved_prefix is None:
        pytest.skip("an object that moves is another object")
    assert place.source.parse_address(f"{place.moved_prefix}a.json") == "a.json"


def test_address_outside_is_rejected_with_the_location(place: Place) -> None:
    with pytest.raises(UsageError, match=place.location) as raised:
        place.source.parse_address(
            "/elsewhere/a.json" if place.provider == "local" else "s3://elsewhere/a.json"
        )
    assert raised.value.hint


def test_a_source_that_exists_passes_its_checks(place: Place) -> None:
    for check in place.source.list_preflight_checks(captures=True):
        check()
    assert not [
        f for f in place.source.check(needs_removals=False, clock=SystemClock()) if f.status == "problem"
    ]


def test_a_missing_source_fails_before_a_run_and_is_a_finding_with_a_fix(place: Place) -> None:
    first, *_ = place.missing.list_preflight_checks(captures=True)
    with pytest.raises(HeadwaterError) as raised:
        first()
    assert raised.value.hint
    found = place.missing.check(needs_removals=False, clock=SystemClock())
    problems = [finding for finding in found if finding.status == "problem"]
    assert problems
    assert all(finding.fix for finding in problems)

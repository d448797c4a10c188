"""The limits of an inspection: folders with very many objects, and time."""

from datetime import datetime, timezone
from pathlib import Path

from headwater.app.inspection.sampling import Limits, Sampler, iter_some, list_source
from headwater.config.source import LocalSourceConfig
from headwater.observability.clock import ManualClock
from headwater.sources.lister import ListedObject
from headwater.sources.memory.lister import MemoryLister

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


class TickingClock(ManualClock):
    """A second passes with each reading."""

    def monotonic(self) -> float:
        self.advance(1)
        return super().monotonic()


def build_lister(*keys: str) -> MemoryLister:
    return MemoryLister(ListedObject(key, 1, "e", None, NOW) for key in keys)


def test_of_a_folder_with_very_many_objects_the_first_are_listed_and_the_other_folders_follow() -> None:
    many = [f"in/a/{number:05}.json" for number in range(5_000)]
    few = ["in/b/1.json", "in/b/2.json", "in/z.json", "other/1.json", "in/folder/"]
    found = [one.key for one in iter_some(build_lister(*many, *few), "in/", jumps=True)]
    assert found == [*many[:2_000], "in/b/1.json", "in/b/2.json", "in/z.json"]


def test_without_jumps_and_in_the_top_folder_everything_is_listed() -> None:
    many = [f"{number:05}.json" for number in range(3_000)]
    assert len(list(iter_some(build_lister(*many), "", jumps=True))) == 3_000
    assert len(list(iter_some(build_lister(*(f"a/{key}" for key in many)), "", jumps=False))) == 3_000


def test_listing_and_sampling_end_with_their_time(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}.json").write_text("{}")
    source = LocalSourceConfig(type="local", path=tmp_path)
    listing = list_source(source, Limits(seconds=5), TickingClock())
    assert 0 < len(listing.objects) < 20
    assert f"after 5 s and {len(listing.objects)} objects" in listing.limit
    sampler = Sampler(source, Limits(seconds=5), TickingClock())
    assert 0 < len(sampler.read(listing.objects, 8, "json")) <= len(listing.objects)
    assert sampler.read(listing.objects, 8, "json") == []


def test_samples_are_spread_over_the_listing_and_end_with_their_bytes(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"{number:02}.json").write_text("{}" * 50)
    source = LocalSourceConfig(type="local", path=tmp_path)
    objects = list_source(source, Limits(), ManualClock()).objects
    keys = {file.listed.key for file in Sampler(source, Limits(), ManualClock()).read(objects, 3, "json")}
    assert keys == {"00.json", "49.json", "99.json"}
    assert len(Sampler(source, Limits(bytes=150), ManualClock()).read(objects, 8, "json")) == 2
    assert Sampler(source, Limits(bytes_a_file=50), ManualClock()).read(objects, 8, "parquet") == []

"""How a pass lists the source: a bucket in ranges, divided by keys that have events."""

from headwater.app.application import App
from headwater.capture.announced_ranges import read_captured_ranges
from headwater.capture.position import BEGINNING, END, EventRange
from headwater.config.source import SourceConfig
from headwater.sources.kafka.lister import Captured, KafkaLister
from headwater.sources.lister import Lister
from headwater.sources.parallel_lister import ParallelLister

_OBJECTS_A_RANGE = 10_000
"""About, as far as the objects have events. One of a thousand requests then begins a range."""


def list_in_parallel(app: App, source: SourceConfig, lister: Lister) -> Lister:
    """Return a lister of ranges at the same time; one that always lists everything stays as it is.

    The objects of a Kafka cluster are those that were captured.
    """
    bucket = source.known_location
    if isinstance(lister, KafkaLister):
        keys = app.events.iter_newest_in([EventRange(BEGINNING, END)], bucket)
        return lister.follow(Captured(keys, read_captured_ranges(app.events, bucket)))
    if not source.lists_ranges:
        return lister
    return ParallelLister(lister, lambda: app.event_groups.sample_keys(bucket, _OBJECTS_A_RANGE))

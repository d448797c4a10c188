"""Builds the poller of a source with its clients."""

from collections.abc import Callable

from headwater.config.source import KafkaSourceConfig
from headwater.sources.kafka.cluster import Cluster, build_settings
from headwater.sources.kafka.consumer_group import ConsumerGroup
from headwater.sources.kafka.offset_poller import OffsetPoller
from headwater.sources.kafka.ranges import CapturedRanges
from headwater.sources.memory.queue import MemoryQueue


def build_poller(
    config: KafkaSourceConfig,
    captured: CapturedRanges,
    queue: MemoryQueue,
    report: Callable[[str], None] = lambda _: None,
) -> OffsetPoller:
    """Build the poller of a source. Opens no connection."""
    settings = build_settings(config)
    group = ConsumerGroup(settings, config.group) if config.group else None
    return OffsetPoller(config, Cluster(settings), captured, queue, group=group, report=report)

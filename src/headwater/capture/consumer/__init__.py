"""The capture loop: from a queue to the events table."""

from headwater.capture.consumer.consumer import CommitReport, Consumer
from headwater.capture.consumer.options import ConsumerOptions, build_options
from headwater.capture.consumer.stats import CaptureStats, sum_stats

__all__ = [
    "CaptureStats",
    "CommitReport",
    "Consumer",
    "ConsumerOptions",
    "build_options",
    "sum_stats",
]

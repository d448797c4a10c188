"""The metrics of a run."""

from headwater.app.metrics.batches import record_batch
from headwater.app.metrics.gauges import GaugeLoop

__all__ = ["GaugeLoop", "record_batch"]

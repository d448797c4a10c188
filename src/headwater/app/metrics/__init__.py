"""The metrics of a run."""

from headwater.app.metrics.batches import record_batch
from headwater.app.metrics.gauges import GaugeLoop
from headwater.app.metrics.parts import record_part

__all__ = ["GaugeLoop", "record_batch", "record_part"]

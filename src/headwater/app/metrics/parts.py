"""The metrics of the parts of a run."""

from headwater.observability.metrics import Metrics
from headwater.observability.part_state import PartState


def record_part(metrics: Metrics, name: str, state: PartState) -> None:
    """Set the gauges of one part."""
    metrics.set("part_up", 0 if state.is_dead else 1, part=name)
    metrics.set("part_failed_attempts", state.attempt, part=name)

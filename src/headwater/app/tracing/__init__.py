"""Traces of a run: where they are sent, and the trace of each batch of a table."""

from headwater.app.tracing.component import Tracing, build_tracing
from headwater.app.tracing.pipeline import name_batch, with_trace

__all__ = ["Tracing", "build_tracing", "name_batch", "with_trace"]

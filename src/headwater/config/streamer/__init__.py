"""`headwater config import`: converts the configuration of Hudi's HoodieStreamer."""

from headwater.config.streamer.conversion import Conversion, convert
from headwater.config.streamer.jobs import read_jobs
from headwater.config.streamer.rendering import render_conversion, write_conversion

__all__ = ["Conversion", "convert", "read_jobs", "render_conversion", "write_conversion"]

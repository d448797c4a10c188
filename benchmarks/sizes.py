"""Sizes of benchmarks: as measured, or so small that a run only shows that the benchmark still works."""

import os
from typing import TypeVar

SMALL_VARIABLE = "BENCHMARKS_SMALL"
IS_SMALL = bool(os.environ.get(SMALL_VARIABLE))
"""Set by `python -m benchmarks.run NAME --small` for the process of the benchmark and those it starts."""

Size = TypeVar("Size")


def sized(full: Size, small: Size) -> Size:
    """Return the size of a constant: `small` with `--small`, else `full`."""
    return small if IS_SMALL else full

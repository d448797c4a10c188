"""Whether a run ends before the JVM's optimizing compiler is worth its time."""

import os
from collections.abc import Iterator
from pathlib import Path

from headwater.app.lake_check import find_local_path
from headwater.config.settings import Settings
from headwater.config.source import LocalSourceConfig
from headwater.config.table.outside import is_outside
from headwater.lake.prerequisites.spark_settings import is_local

# Measured: 500,000 rows of 80 MB in 20 files took 52 instead of 70 to 77 CPU seconds without the optimizing
# compiler, three rows 10 instead of 18 to 23.
MOST_BYTES = 64 * 1024 * 1024
_MOST_ENTRIES = 5_000


def is_brief(settings: Settings) -> bool:
    """True if a run that ends by itself can read only little: its folders and its lake are small.

    A bucket, a topic, and a lake or a source table elsewhere may be of any size, so the answer is False.
    """
    sources = [source.path for source in settings.sources if isinstance(source, LocalSourceConfig)]
    lake = find_local_path(settings.lake)
    if lake is None or len(sources) < len(settings.sources) or not is_local(settings.spark.master):
        return False
    if any(is_outside(one) for table in settings.derived_tables.values() for one in table.sources):
        return False
    return all(_is_small(folder) for folder in (*sources, lake))


def _is_small(folder: Path) -> bool:
    """True if a folder has few files and few bytes; reads no more of it than that takes."""
    left = MOST_BYTES
    for count, size in enumerate(_iter_sizes(folder), 1):
        left -= size
        if left < 0 or count > _MOST_ENTRIES:
            return False
    return True


def _iter_sizes(folder: Path) -> Iterator[int]:
    """Yield the size of each file, and 0 for each folder: links to folders may form a loop."""
    for parent, _, files in os.walk(folder, followlinks=True):
        yield 0
        for name in files:
            try:
                yield Path(parent, name).stat().st_size
            except OSError:
                yield 0  # removed since it was listed, or a link to nothing

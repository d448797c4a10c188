"""Does proving completeness stay cheap, and its memory flat, from 100,000 to 1,000,000 objects?

A mirror whose ledger and rows know so many objects, and a listing of exactly those. Each size in a process
of its own. Two results: objects verified a second at the larger size against the smaller, and the peak
memory (RSS) of the Python process against the smaller. The listing is made up in memory: a real one takes a
second a thousand objects or less.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.sizes import sized
from headwater.app import App
from headwater.app.objects.verify import Verify
from headwater.config.source import SourceConfig
from headwater.ingest.ledger.watermark import Watermark
from headwater.ingest.lineage import EVENT_ID, EVENT_TIME, OBJECT, ROW, VERSION
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table
from headwater.sources.lister import ListedObject, UnusablePath
from headwater.sources.local.source import LocalSource
from headwater.sources.memory.lister import MemoryLister

SIZES = sized((100_000, 1_000_000), (100, 1_000))
TABLES = {"orders": {"path": "known/*.json", "mode": "mirror"}}
_STATES_A_COMMIT = 1_000_000
_NEWEST = Watermark(commit="9" * 17)
_TIME = datetime(2026, 5, 1, tzinfo=timezone.utc)


def run() -> tuple[BenchmarkResult, BenchmarkResult]:
    """Objects a second, and megabytes."""
    small, large = (measure_in_own_process(size) for size in SIZES)
    speed = BenchmarkResult(
        "verify", large["speed"], small["speed"], "objects/s", 0.8, "higher", large["broken"]
    )
    memory = BenchmarkResult("verify_memory", large["memory"], small["memory"], "MB", 1.1, "lower")
    return speed, memory


def measure_in_own_process(size: int) -> dict[str, Any]:
    """Its peak memory is nobody else's."""
    command = [sys.executable, "-m", __spec__.name, str(size)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    say(f"{size} objects: {found}")
    return found


class _Listing(MemoryLister):
    """Objects that lie nowhere."""

    def __init__(self, size: int) -> None:
        super().__init__(())
        self._size = size

    def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
        del prefix, start_after
        return (
            ListedObject(f"known/{n:08d}.json", 2_000, f"etag-{n}", None, _TIME) for n in range(self._size)
        )


class _Source(LocalSource):
    """A folder with a listing of that size."""

    def __init__(self, config: SourceConfig, size: int) -> None:
        assert config.type == "local"
        super().__init__(config)
        self._size = size

    @contextmanager
    def open_lister(
        self, pace: Callable[[], None], on_unusable: Callable[[UnusablePath], None] | None = None
    ) -> Iterator[_Listing]:
        del pace, on_unusable
        yield _Listing(self._size)


def main(size: int) -> None:
    """Fill a lake, verify it, print speed and memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "landing").mkdir()
        source = {"type": "local", "path": str(folder / "landing")}
        with open_app(build_settings(folder, source, TABLES)) as app:
            fill_rows(app, size)
            fill_ledger(app, size)
            comparison = Verify(app, open_source=lambda source: _Source(source, size))
            started = time.monotonic()
            report = comparison.run()
            seconds = time.monotonic() - started
    counts = report.tables["orders"].counts
    broken = "" if counts.ingested == size else f"{counts}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"speed": size / seconds, "memory": peak, "broken": broken}))


def fill_ledger(app: App, size: int, watermark: Watermark = _NEWEST) -> None:
    """A state for each object; Spark makes them, so that Python's memory does not grow by it."""
    bucket = find_folder(app)
    number = "lpad(cast(id as string), 8, '0')"
    columns = (
        "'orders' as `table`",
        "md5(cast(id as string)) as object_id",
        "'local' as provider",
        f"'{bucket}' as bucket",
        f"concat('known/', {number}, '.json') as key",
        "concat('etag-', id) as version",
        "concat('etag-', id) as etag",
        "'' as order_key",
        "timestamp'2026-05-01 00:00:00' as event_time",
        "md5(cast(-id as string)) as event_id",
        "'ingested' as status",
        "'' as reason",
        "'' as detail",
        "1L as rows",
        "0L as bad_rows",
        "2000L as bytes",
        "1L as events",
        "false as looked",
        "'' as instant",
        "timestamp'2026-05-01 00:00:00' as first_seen",
    )
    for first in range(0, size, _STATES_A_COMMIT):
        frame = app.spark.range(first, min(size, first + _STATES_A_COMMIT)).selectExpr(*columns)
        app.stores.ledger.write_frame("orders", frame, watermark)


def find_folder(app: App) -> str:
    """The source's folder, which is its bucket."""
    source = app.settings.sources[0]
    assert source.type == "local"
    return str(source.path)


def fill_rows(app: App, size: int) -> None:
    """A row for each object."""
    bucket = find_folder(app)
    number = "lpad(cast(id as string), 8, '0')"
    frame = app.spark.range(size).selectExpr(
        "id",
        f"concat('{bucket}/known/', {number}, '.json') as {OBJECT}",
        f"concat('etag-', id) as {VERSION}",
        f"1L as {ROW}",
        f"md5(cast(-id as string)) as {EVENT_ID}",
        f"timestamp'2026-05-01 00:00:00' as {EVENT_TIME}",
    )
    options = WriteOptions(table_name="orders", operation="bulk_insert", record_key=(OBJECT, ROW))
    Table(app.spark, f"{app.settings.lake}/orders").write(frame, options)


if __name__ == "__main__":
    main(int(sys.argv[1]))

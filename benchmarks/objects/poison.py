"""How much of the good throughput is left when one message and one file in a hundred are bad?

Ours: messages of 19,000 small files, of which one file in a hundred cannot be read, and one message in a
hundred cannot be parsed; from the first receive call until all good rows are committed and all messages
deleted. Floor: as many good files, and nothing else. The whole path from the consumer to the table's last
commit, quarantine included, in one warm session, in turns; each round has new files and the lakes grow alike.
"""

import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import open_folder_app
from benchmarks.rig.folders import run_batches, write_files
from benchmarks.sizes import sized
from headwater.app import App
from headwater.capture.consumer import Consumer, ConsumerOptions
from headwater.lake.layout import quarantine_path, table_path
from headwater.lake.table import Table
from headwater.sources.local.folder_watcher.file_messages import build_created_message
from headwater.sources.local.folder_watcher.known_files import KnownFile
from headwater.sources.local.lister import build_file_etag
from headwater.sources.memory.queue import MemoryQueue

# With the bad ones as many batches as without: one more, of a few objects, would be most of the difference.
GOOD = sized(19_000, 200)
WARM_UP = sized(1_000, 100)
PAIRS = sized(3, 1)
_ONE_IN = 100
TABLES = {"orders": {"path": "orders/**/*.json"}}
_BAD_BODIES = ("{not json", '{"hello": "world"}', '{"Records": [{"eventSource": "aws:s3"}]}')
_BAD_CONTENTS = (bytes(range(128, 256)) * 8, b"PAR1 and nothing behind it" * 40)


def run() -> BenchmarkResult:
    """Good files a second."""
    with open_folder_app(TABLES) as (app, folder):
        landing = folder / "landing"
        sides = {share: open_side(app, folder / f"lake-{share}") for share in (0, _ONE_IN)}
        rounds = count()

        def measure(share: int, good: int = GOOD) -> float:
            bodies = write_round(landing, next(rounds) * GOOD, good, share)
            return good / run_through(sides[share], bodies)

        say(f"warm-up: clean {measure(0, WARM_UP):.0f}, poisoned {measure(_ONE_IN, WARM_UP):.0f} files/s")
        pair = choose_median(measure_pairs(lambda: measure(_ONE_IN), lambda: measure(0), PAIRS))
        broken = check(sides)
    return BenchmarkResult("poison", pair.value, pair.floor, "good files/s", 0.95, "higher", broken)


def open_side(app: App, lake: Path) -> App:
    """The same session on a lake of its own."""
    return App(app.settings.model_copy(update={"lake": str(lake)}), spark=app.spark)


def write_round(landing: Path, first: int, good: int, share: int) -> list[str]:
    """Write the files; the bodies of their messages, the bad ones spread among them."""
    bodies: list[str] = []
    for at, key in enumerate(write_files(landing, range(first, first + good))):
        bodies.append(announce(landing, key))
        if share and at % share == 0:
            bad = f"orders/bad/{first + at}.json"
            (landing / "orders/bad").mkdir(exist_ok=True)
            (landing / bad).write_bytes(_BAD_CONTENTS[at // share % len(_BAD_CONTENTS)])
            bodies += [announce(landing, bad), _BAD_BODIES[at // share % len(_BAD_BODIES)]]
    return bodies


def announce(landing: Path, key: str) -> str:
    """The message of a file."""
    status = (landing / key).stat()
    file = KnownFile(build_file_etag(status), order=status.st_ctime_ns)
    return build_created_message(str(landing), key, status.st_size, file, from_listing=False)


def run_through(app: App, bodies: Sequence[str]) -> float:
    """Seconds until everything is in its tables and the queue is empty."""
    queue = MemoryQueue(capacity=len(bodies))
    for body in bodies:
        queue.send(body)
    consumer = Consumer(queue, app.events.append, app.stores.quarantine.append, ConsumerOptions())
    started = time.monotonic()
    # The folder is fed, and the queue is in this process: one short look tells that it is empty.
    consumer.run_once(empty_poll_seconds=0.05)
    captured = time.monotonic()
    pipeline = app.build_pipeline("orders")
    run_batches(pipeline)
    pipeline.save_checkpoint()
    seconds = time.monotonic() - started
    depth = queue.depth()
    if depth.visible or depth.in_flight:
        raise RuntimeError(f"messages are left: {depth}")
    say(f"  {len(bodies)} messages: capture {captured - started:.2f} s of {seconds:.2f} s")
    return seconds


def check(sides: dict[int, App]) -> str:
    """Whether both have the same number of rows, and each bad thing is in quarantine once."""
    rows = {share: count_rows(app, table_path(app.settings.lake, "orders")) for share, app in sides.items()}
    good = WARM_UP + PAIRS * GOOD
    bad = 2 * (WARM_UP + PAIRS * GOOD) // _ONE_IN
    found = {share: count_rows(app, quarantine_path(app.settings.lake)) for share, app in sides.items()}
    if rows[0] != rows[_ONE_IN] or rows[0] < good:
        return f"rows of {good} files: {rows}"
    return "" if found == {0: 0, _ONE_IN: bad} else f"quarantine: {found}, not {bad}"


def count_rows(app: App, path: str) -> int:
    """Rows of a table; none where there is no table."""
    table = Table(app.spark, path)
    return table.read().count() if table.load_timeline().exists() else 0

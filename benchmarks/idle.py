"""How much of one core does `headwater run` use in a minute in which nothing happens?

A real process on an S3 source whose queue is empty, after it has ingested one object so that every table
exists. Value: CPU seconds of its whole process tree (Python, JVM, workers) per wall second. Floor: the
allowance, 5 % of one core. A commit in that minute, of any table, breaks the result.
"""

import tempfile
import time
from pathlib import Path

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_emulator, use_emulator_credentials, write_config
from benchmarks.rig.commits import count_commits, list_commits
from benchmarks.rig.processes import read_cpu_seconds, run_headwater, wait_until
from benchmarks.sizes import sized
from headwater.demo.landing_zone import build_clients, create_landing_zone

ALLOWED_FRACTION = 0.05
MEASURED_SECONDS = sized(60, 4)
# The ledger is written up to half a minute after the rows.
SETTLE_SECONDS = 45
TABLES = {"orders": {"path": "orders/**/*.json", "record_key": "id", "ordering": "ts"}}
_START_SECONDS = 120


def run() -> BenchmarkResult:
    """CPU seconds per wall second."""
    use_emulator_credentials()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with build_emulator(folder / "emulator") as emulator:
            clients = build_clients(emulator.endpoint)
            zone = create_landing_zone(clients, "landing")
            queue = {"url": zone.queue_url, "endpoint": emulator.endpoint}
            source = {"type": "s3", "bucket": zone.bucket, "endpoint": emulator.endpoint, "queue": queue}
            config = write_config(folder, {"source": source, "tables": TABLES})
            with run_headwater(config, "run", log=folder / "run.log") as process:
                clients.s3.put_object(Bucket=zone.bucket, Key="orders/1.json", Body=b'{"id": 1, "ts": 1}\n')
                table = folder / "lake" / "orders"
                wait_until(lambda: bool(list_commits(table)), _START_SECONDS, "the first commit", process)
                say(f"the first object is in its table; settling for {SETTLE_SECONDS} s")
                time.sleep(SETTLE_SECONDS)
                fraction, commits = measure(process.pid, folder / "lake")
    broken = f"{commits} commits while nothing happened" if commits else ""
    return BenchmarkResult("idle", fraction, ALLOWED_FRACTION, "cores", 1.0, "lower", broken)


def measure(pid: int, lake: Path) -> tuple[float, int]:
    """CPU per wall second over the minute, and how many commits there were meanwhile."""
    commits = count_commits(lake)
    cpu, started = read_cpu_seconds(pid), time.monotonic()
    say(f"{cpu:.1f} s CPU up to now")
    for _ in range(4):
        before, at = read_cpu_seconds(pid), time.monotonic()
        time.sleep(MEASURED_SECONDS / 4)
        say(f"idle: {(read_cpu_seconds(pid) - before) / (time.monotonic() - at):.1%} of one core")
    fraction = (read_cpu_seconds(pid) - cpu) / (time.monotonic() - started)
    return fraction, count_commits(lake) - commits

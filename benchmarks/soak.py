"""Does a run stay as it is for hours? `python -m benchmarks.soak --minutes 60`, or `make soak`.

Twenty changes a second go to an S3 emulator whose bucket notifies a queue: seven of ten put a new object, two
overwrite one, one removes one. `headwater run` keeps three tables: a merge, a mirror and an append. Every ten
seconds it notes the memory of Python and of the JVM that no file backs, open files, threads, the lag, and
temporary files that are older than a minute, which no batch uses any more. Each result is a line fitted to
what was noted after the warm-up: value after an hour, floor at the beginning. Exit code 1: something grows,
or a table differs from the bucket.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import write_config
from benchmarks.rig.notified_bucket import NotifiedBucket, open_notified_bucket
from benchmarks.rig.orders import iter_orders
from benchmarks.rig.processes import find_free_port, list_family, read_own_bytes, run_headwater, wait_until

A_SECOND = 20
SAMPLE_SECONDS = 10.0
LEFT_SECONDS = 60.0
"""A temporary file of this age is left over: batches take seconds."""
_START_SECONDS = 180
_DRAIN_SECONDS = 300
TABLES = {
    "orders": {"path": "shop/*.json", "record_key": "id", "ordering": "ts", "table_type": "merge_on_read"},
    "mirror": {"path": "shop/*.json", "mode": "mirror"},
    "log": {"path": "shop/*.json", "mode": "append"},
}
MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Sample:
    """What is noted at a time, in hours since the start of the load. Memory and files in megabytes."""

    hours: float
    python: float
    jvm: float
    files: float
    threads: float
    temporary: float
    lag: float


GOALS: Mapping[str, float] = {
    "python": 1.02,
    "jvm": 1.02,
    "files": 1.02,
    "threads": 1.02,
    "temporary": 1.05,
    "lag": 1.5,
}
_UNITS = {"python": "MB", "jvm": "MB", "files": "files", "threads": "threads", "temporary": "MB", "lag": "s"}


class Load:
    """Changes objects of the bucket at a pace, in a thread, until it is stopped."""

    def __init__(self, bucket: NotifiedBucket) -> None:
        self._bucket = bucket
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load")
        self._chance = random.Random(7)
        self._orders = iter_orders(0, 7)
        self._keys: list[str] = []
        self.changes = 0
        self.failure: Exception | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the change in hand."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        started = time.monotonic()
        try:
            while not self._stop.wait(max(0.0, started + self.changes / A_SECOND - time.monotonic())):
                self._change()
                self.changes += 1
        except Exception as error:
            self.failure = error

    def _change(self) -> None:
        s3, name, fate = self._bucket.clients.s3, self._bucket.name, self._chance.random()
        if len(self._keys) > 100 and fate < 0.1:
            s3.delete_object(Bucket=name, Key=self._keys.pop(self._chance.randrange(len(self._keys))))
            return
        body = next(self._orders).encode() + b"\n"
        if len(self._keys) > 100 and fate < 0.3:
            key = self._chance.choice(self._keys)
        else:
            key = f"shop/{self.changes:08d}.json"
            self._keys.append(key)
        s3.put_object(Bucket=name, Key=key, Body=body)


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak, print a JSON line for each result, and write the plot."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="duration of the load")
    parser.add_argument("--warm-up", type=float, default=10.0, help="minutes that do not count")
    parser.add_argument("--plot", type=Path, help="file for a plot, such as soak.svg")
    parser.add_argument("--samples", type=Path, help="file for what was noted, as JSON lines")
    given = parser.parse_args(arguments)
    samples, broken = soak(given.minutes)
    if given.samples:
        lines = [json.dumps(dict(zip(_list_names(), astuple(sample), strict=True))) for sample in samples]
        given.samples.write_text("\n".join(lines) + "\n")
    if given.plot:
        write_plot(samples, given.warm_up, given.plot)
    counted = [sample for sample in samples if sample.hours * 60 >= given.warm_up]
    results = [judge(name, counted, broken) for name in GOALS]
    for result in results:
        print(result.to_json(), flush=True)
    if broken:
        say(f"broken: {broken}")
    return 0 if all(result.ok for result in results) else 1


def soak(minutes: float) -> tuple[list[Sample], str]:
    """Run for so many minutes; return what was noted, and what is wrong with the tables, if anything."""
    with open_notified_bucket() as bucket:
        folder, port = bucket.folder, find_free_port()
        temporary = folder / "temporary"
        temporary.mkdir()
        spark = {"driver_memory": "1g", "config": {"spark.local.dir": str(temporary)}}
        config = write_config(folder, {"source": bucket.source, "tables": TABLES, "spark": spark})
        load = Load(bucket)
        with run_headwater(
            config,
            "run",
            "--metrics-port",
            str(port),
            log=folder / "run.log",
            environment={"TMPDIR": str(temporary)},
        ) as process:
            wait_until(lambda: ask(port, "readyz") != "", _START_SECONDS, "the run is ready", process)
            load.start()
            try:
                samples = _note_samples(process, temporary, port, minutes, load)
            finally:
                load.stop()
            say(f"{load.changes} changes; waiting for the tables")
            time.sleep(SAMPLE_SECONDS)
            wait_until(lambda: read_lag(port) == 0, _DRAIN_SECONDS, "the tables are up to date", process)
        return samples, verify(config)


def _note_samples(
    process: "subprocess.Popen[bytes]", temporary: Path, port: int, minutes: float, load: Load
) -> list[Sample]:
    started = time.monotonic()
    samples: list[Sample] = []
    while (passed := time.monotonic() - started) < 60 * minutes:
        if process.poll() is not None:
            raise RuntimeError(f"the run ended with {process.returncode}")
        if load.failure:
            raise load.failure
        samples.append(note(process.pid, temporary, port, passed / 3600))
        if len(samples) % 30 == 1:
            say(", ".join(f"{name} {value:.2f}" for name, value in _pair(samples[-1])))
        time.sleep(max(0.0, started + len(samples) * SAMPLE_SECONDS - time.monotonic()))
    return samples


def note(pid: int, temporary: Path, port: int, hours: float) -> Sample:
    """Measure now."""
    java = [number for number in list_family(pid) if _read(number, "comm").strip() == "java"]
    return Sample(
        hours,
        python=read_own_bytes(pid) / MEGABYTE,
        jvm=sum(map(read_own_bytes, java)) / MEGABYTE,
        files=sum(_count(number, "fd") for number in (pid, *java)),
        threads=sum(_count(number, "task") for number in (pid, *java)),
        temporary=sum(_measure(path) for path in temporary.rglob("*")) / MEGABYTE,
        lag=read_lag(port) or 0.0,
    )


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""


def _count(pid: int, name: str) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/{name}").iterdir()))
    except OSError:
        return 0


def _measure(path: Path) -> int:
    try:
        found = path.stat()
        is_left = path.is_file() and time.time() - found.st_mtime > LEFT_SECONDS
        return found.st_size if is_left else 0
    except OSError:
        return 0


def ask(port: int, path: str) -> str:
    """What the run answers; empty if it does not, or with an error."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=10) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def read_lag(port: int) -> float | None:
    """The lag of the slowest table in seconds; None if it is unknown."""
    lines = ask(port, "metrics").splitlines()
    found = [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("headwater_lag_seconds{")]
    return max(found) if len(found) == len(TABLES) else None


def verify(config: Path) -> str:
    """Compare the tables with the bucket; empty if they are equal."""
    command = [str(Path(sys.executable).parent / "headwater"), "--config", str(config), "verify"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"verify: {done.stdout[-2_000:]}{done.stderr[-2_000:]}"


def judge(name: str, samples: Sequence[Sample], broken: str = "") -> BenchmarkResult:
    """Compare the beginning of the fitted line with its value an hour later."""
    times = [sample.hours for sample in samples]
    values = [float(getattr(sample, name)) for sample in samples]
    slope, intercept = statistics.linear_regression(times, values)
    # Of almost nothing, any change is a multiple.
    begin = max(1.0, intercept + slope * times[0])
    return BenchmarkResult(
        f"soak_{name}", max(0.0, begin + slope), begin, _UNITS[name], GOALS[name], "lower", broken
    )


def write_plot(samples: Sequence[Sample], warm_up: float, path: Path) -> None:
    """Draw everything noted over the minutes; what is grey does not count."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 12), layout="constrained")
    minutes = [sample.hours * 60 for sample in samples]
    for axis, name in zip(figure.subplots(len(GOALS), 1, sharex=True), GOALS, strict=True):
        axis.plot(minutes, [getattr(sample, name) for sample in samples], color="#2f6fde", linewidth=1)
        axis.axvspan(0, warm_up, color="#888888", alpha=0.15)
        axis.set_ylabel(f"{name} ({_UNITS[name]})")
        axis.set_ylim(bottom=0)
    axis.set_xlabel("minutes")
    figure.savefig(path)


def _list_names() -> list[str]:
    return [field.name for field in fields(Sample)]


def _pair(sample: Sample) -> list[tuple[str, float]]:
    return list(zip(_list_names(), astuple(sample), strict=True))


if __name__ == "__main__":
    sys.exit(main())

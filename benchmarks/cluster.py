"""How fast do 1, 2 and 4 executors of one core ingest small objects, and what can only the driver do?

A standalone cluster on this machine: master, workers, and this process as driver. Five tables run
concurrently, as in a run, from the events table to their last commits, over 1 KB objects on an S3 emulator.
After a warm-up each size of the cluster ingests the same objects into new tables.

Floor of `cluster_2` and `cluster_4`: the throughput with one executor. All processes share this machine's
cores, so CPU seconds count: `cluster_driver` is the driver's share of them, the serial fraction of Amdahl's
law. A pass with fewer objects separates the cost of a batch from that of an object; the note says what
follows for batches of 10,000 objects on larger clusters.
"""

import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import JSON, build_emulator, build_settings, open_app, use_emulator_credentials
from benchmarks.rig.objects import announce_objects, put_objects
from benchmarks.rig.processes import read_cpu_seconds, read_own_cpu_seconds
from benchmarks.sizes import sized
from headwater.app import App
from headwater.capture.captured_event import CapturedEvent
from headwater.demo.landing_zone import build_clients
from headwater.lake.layout import table_path
from headwater.lake.session import find_jvm_process
from headwater.lake.table import Table
from tests.fixtures.end_to_end.standalone_cluster import HOST, StandaloneCluster, run_standalone_cluster

EXECUTORS = sized((1, 2, 4), (1, 2))
PREDICTED = (10, 100)
OBJECTS = sized(5_000, 50)
OBJECT_BYTES = 1_024
LARGE_BATCH = 10_000
FEW = sized(1_000, 10)
TABLES = {
    f"orders_{tens}": {"path": f"orders/{tens}[0-9]/*.json", "record_key": "id", "ordering": "ts"}
    for tens in range(5)
}


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds by who spent them, or how many of them a batch or an object takes."""

    driver: float
    workers: float

    @property
    def serial_fraction(self) -> float:
        """Return the share that only the driver can spend."""
        return self.driver / (self.driver + self.workers)


@dataclass(frozen=True, slots=True)
class Sample:
    """A pass over few objects and one over all, and the seconds of the latter by the clock."""

    executors: int
    seconds: float
    few: Cost
    all: Cost
    broken: str

    def predict(self, objects: int) -> Cost:
        """Return the cost of a batch of this size: a part for each batch, and a part for each object."""
        return Cost(
            _extrapolate(self.few.driver, self.all.driver, objects),
            _extrapolate(self.few.workers, self.all.workers, objects),
        )


def _extrapolate(few: float, all_: float, objects: int) -> float:
    an_object = max(0.0, (all_ - few) / (OBJECTS - FEW))
    a_batch = max(0.0, (few - an_object * FEW) / len(TABLES))
    return a_batch + an_object * objects


def run() -> Iterator[BenchmarkResult]:
    """Objects a second by executors, and the driver's CPU time of an object."""
    use_emulator_credentials()
    with tempfile.TemporaryDirectory() as name, build_emulator(Path(name) / "emulator") as emulator:
        clients = build_clients(emulator.endpoint)
        clients.s3.create_bucket(Bucket="landing")
        put_objects(emulator.endpoint, "landing", OBJECTS, OBJECT_BYTES)
        events, _ = announce_objects("landing", OBJECTS, OBJECT_BYTES)
        queue = {"url": f"{emulator.endpoint}/none", "endpoint": emulator.endpoint}
        source = {"type": "s3", "bucket": "landing", "endpoint": emulator.endpoint, "queue": queue}
        samples = [measure(Path(name) / str(count), source, events, count) for count in EXECUTORS]
    for sample in samples:
        yield report_throughput(sample, samples[0])
    yield report_driver(samples)


def measure(folder: Path, source: JSON, events: Sequence[CapturedEvent], executors: int) -> Sample:
    """Ingest with this number of executors, in a session of its own."""
    with run_standalone_cluster(folder / "cluster", os.environ, workers=executors) as cluster:
        spark = {"master": cluster.url, "driver_host": HOST, "config": {"spark.executor.memory": "768m"}}
        with open_app(build_settings(folder, source, TABLES, spark=spark)) as app:
            seconds = ingest(app, folder / "warm", events[:FEW])
            say(f"{executors} executors: warm-up {FEW / seconds:.1f} files/s")
            few, _ = measure_cost(app, cluster, folder / "few", events[:FEW])
            cost, seconds = measure_cost(app, cluster, folder / "all", events)
            say(f"{OBJECTS / seconds:.1f} files/s; {FEW} files: {few}; {OBJECTS} files: {cost}")
            return Sample(executors, seconds, few, cost, find_loss(app, folder / "all"))


def measure_cost(
    app: App, cluster: StandaloneCluster, lake: Path, events: Sequence[CapturedEvent]
) -> tuple[Cost, float]:
    """CPU and clock seconds of a pass."""
    driver, workers = read_driver_cpu(app), read_executor_cpu(cluster)
    seconds = ingest(app, lake, events)
    return Cost(read_driver_cpu(app) - driver, read_executor_cpu(cluster) - workers), seconds


def ingest(app: App, lake: Path, events: Sequence[CapturedEvent]) -> float:
    """Seconds in which all tables ingest the events, in a lake of its own."""
    own = App(app.settings.model_copy(update={"lake": str(lake)}), spark=app.spark)
    own.events.append(events)
    pipelines = [own.build_pipeline(name) for name in TABLES]

    def drain(at: int) -> None:
        while pipelines[at].run_batch() is not None:
            pass

    threads = [threading.Thread(target=drain, args=(at,)) for at in range(len(pipelines))]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - started


def read_driver_cpu(app: App) -> float:
    """CPU seconds of this process and its JVM, without emulator, master and workers, which are children."""
    jvm = find_jvm_process(app.spark)
    return read_own_cpu_seconds(os.getpid()) + (read_cpu_seconds(jvm) if jvm else 0.0)


def read_executor_cpu(cluster: StandaloneCluster) -> float:
    """CPU seconds of all executors with their Python workers."""
    return sum(map(read_cpu_seconds, cluster.find_executors()))


def find_loss(app: App, lake: Path) -> str:
    """What is missing; empty if each object has its rows."""
    found = sum(
        Table(app.spark, table_path(str(lake), name)).read().select("_headwater_object").distinct().count()
        for name in TABLES
    )
    return "" if found == OBJECTS else f"rows of {found} objects instead of {OBJECTS}"


def report_throughput(sample: Sample, single: Sample) -> BenchmarkResult:
    """Objects a second, beside one executor."""
    cost = sample.all
    busy = (cost.driver + cost.workers) / sample.seconds
    note = (
        f"CPU of an object: driver {1_000 * cost.driver / OBJECTS:.1f} ms, "
        f"executors {1_000 * cost.workers / OBJECTS:.1f} ms; together {busy:.1f} of {os.cpu_count()} cores"
    )
    name, rates = f"cluster_{sample.executors}", (OBJECTS / sample.seconds, OBJECTS / single.seconds)
    return BenchmarkResult(name, *rates, "files/s", 0.8, "higher", sample.broken, note)


def report_driver(samples: Sequence[Sample]) -> BenchmarkResult:
    """The driver's CPU time of an object, beside that of the whole cluster."""
    median = sorted(samples, key=lambda sample: sample.all.serial_fraction)[len(samples) // 2]
    driver, workers = (1_000 * value / OBJECTS for value in (median.all.driver, median.all.workers))
    large = median.predict(LARGE_BATCH)
    speedups = ", ".join(f"{n}: {predict_speedup(large.serial_fraction, n):.1f}" for n in PREDICTED)
    note = (
        f"a batch of {LARGE_BATCH} objects: CPU of the driver {large.driver:.1f} s, of executors "
        f"{large.workers:.1f} s; "
        f"speedup over one core by Amdahl's law, by executors: {speedups}"
    )
    return BenchmarkResult("cluster_driver", driver, driver + workers, "ms CPU", 0.5, "lower", "", note)


def predict_speedup(serial: float, executors: int) -> float:
    """Amdahl's law."""
    return 1 / (serial + (1 - serial) / executors)

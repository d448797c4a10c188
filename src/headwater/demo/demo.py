"""The whole pipeline on this machine: an emulator, a simulated shop, the real `Run`, and a check."""

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rich.console import Console

from headwater.app import App
from headwater.app.components import RunReport
from headwater.app.run import Run, RunObserver
from headwater.capture.quarantine_reader import QuarantineReader
from headwater.config.loader import load_settings
from headwater.config.settings import Settings
from headwater.demo.clouds.cloud import Cloud
from headwater.demo.clouds.names import CloudName
from headwater.demo.clouds.opening import open_cloud
from headwater.demo.finale import SHELF_FOLDER, Finale, FinaleReport
from headwater.demo.plain_reading import compare_rows, read_plainly
from headwater.demo.progress import Progress
from headwater.demo.report import Findings, Report, build_report
from headwater.demo.scenario import Scenario, plan_scenario
from headwater.demo.screen import Screen, open_screen, print_plain
from headwater.demo.surroundings import (
    Workspace,
    create_workspace,
    find_emulator_folder,
    use_emulator_only,
)
from headwater.demo.upload import Uploader, read_uploads
from headwater.ingest.planning.outcome import BatchResult
from headwater.ingest.planning.selection import build_selector
from headwater.lake.layout import events_path, quarantine_path, table_path
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.observability.logging import configure_logging
from headwater.sources.queue import QueueDepth
from headwater.sources.registry import build_queue

SEED = 20260504
# Seconds without arrivals after which the demo stops waiting.
PATIENCE_SECONDS = 60.0
POLL_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """`parent` gets a new folder; `seconds` of writing; `keep` the emulator running after the report.

    `command` is headwater's command line on this machine; `cloud` names the emulators.
    """

    parent: Path
    seconds: float
    keep: bool
    command: str
    cloud: CloudName = CloudName.s3


def run_demo(options: DemoOptions, console: Console, stop: threading.Event) -> Report | None:
    """Run the demo and print the report; None when `stop` was set before all writes were done.

    Raises `HeadwaterError` when the demo cannot run.
    """
    workspace = create_workspace(options.parent, datetime.now())
    print_plain(console, f"The demo's files are in {workspace.folder}, its log is {workspace.log_path.name}.")
    with _log_to(workspace.log_path), use_emulator_only() as environ:
        if options.cloud is CloudName.kafka:
            return _run_kafka(options, workspace, console, stop, environ)
        with console.status("installing"):
            opening = open_cloud(
                options.cloud, workspace.emulator_folder, lambda text: print_plain(console, text)
            )
        with opening as cloud:
            workspace.write_config(cloud.source)
            settings = load_settings(workspace.config_path, environ)
            print_plain(console, cloud.title)
            run = _DemoRun(settings, environ, plan_scenario(SEED, options.seconds), cloud)
            report = run.play(console, stop, workspace, options.command)
            if report is None:
                print_plain(console, f"Stopped. Everything committed so far is in {workspace.folder}.")
                return None
            print_plain(console, "\n".join(("", *report.lines)))
            if options.keep:
                _keep_emulator(console, cloud, workspace, options.command, stop)
    return report


def _run_kafka(
    options: DemoOptions,
    workspace: Workspace,
    console: Console,
    stop: threading.Event,
    environ: Mapping[str, str],
) -> Report | None:
    from headwater.demo.kafka_broker import KafkaBroker, ensure_kafka, is_installed
    from headwater.demo.kafka_demo import KafkaDemo, write_config

    installed = find_emulator_folder("kafka")
    if not is_installed(installed):
        print_plain(console, f"Installing Kafka into {installed} (once; about 46 MB) ...")
    with KafkaBroker(ensure_kafka(installed), workspace.emulator_folder) as broker:
        workspace.config_path.write_text(write_config(broker.bootstrap), "utf-8")
        print_plain(console, f"Kafka runs at {broker.bootstrap}.")
        settings = load_settings(workspace.config_path, environ)
        demo = KafkaDemo(broker.bootstrap, settings, environ)
        report = demo.play(options.seconds, stop, lambda text: print_plain(console, text))
    lines = [f"Stopped. Everything committed so far is in {workspace.folder}."]
    if report is not None:
        lines = ["", *report.lines, "", f"{options.command} --config {workspace.config_path} status"]
    print_plain(console, "\n".join(lines))
    return report


class _DemoRun:
    """One demo: the pipeline in a thread, the uploads in another, the screen in this one."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        scenario: Scenario,
        cloud: Cloud,
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._scenario = scenario
        self._cloud = cloud
        self._shelf = settings.search.table if settings.search else ""
        tables = {name: table for name, table in settings.tables.items() if name != self._shelf}
        selectors = {name: build_selector(table) for name, table in tables.items()}
        self._progress = Progress(
            scenario,
            tuple(tables),
            lambda key: [name for name, select in selectors.items() if select(key) is None],
        )
        self._ended = threading.Event()
        self._is_open = False
        self._finale: FinaleReport | None = None
        self._uploader = Uploader(cloud, scenario, stop=self._ended, on_step=self._progress.note_step)

    def play(
        self, console: Console, stop: threading.Event, workspace: Workspace, command: str
    ) -> Report | None:
        with open_screen(console) as screen, ThreadPoolExecutor(1, "pipeline") as threads:
            self._progress.enter("starting Java and Spark (the first start downloads about 90 MB of jars)")
            pipeline = threads.submit(self._run_pipeline)
            try:
                self._watch(screen, pipeline, stop)
                if not (stop.is_set() or pipeline.done() or self._uploader.failure):
                    self._finale = self._play_finale(screen, stop)
            finally:
                self._end(screen, pipeline)
            done = pipeline.result()
            if self._uploader.failure:
                raise self._uploader.failure
            if stop.is_set():
                return None
            self._progress.enter("comparing every row with an independent read of the bucket")
            screen.show(self._progress.take_snapshot())
            return self._check(done, workspace, command)

    def _run_pipeline(self) -> RunReport:
        app = App(self._settings, environ=self._environ)
        observer = RunObserver(self._progress.note_capture, self._note_batch)
        try:
            return Run(app, observer=observer, on_session=self._open).until(self._ended)
        finally:
            app.close()

    def _note_batch(self, result: BatchResult) -> None:
        if result.table != self._shelf:
            self._progress.note_batch(result)

    def _play_finale(self, screen: Screen, stop: threading.Event) -> FinaleReport:
        finale = Finale(self._cloud, self._settings, self._environ, self._progress.enter, stop)
        with ThreadPoolExecutor(1, "finale") as threads:
            playing = threads.submit(finale.play)
            while not playing.done():
                screen.show(self._progress.take_snapshot())
                time.sleep(POLL_SECONDS)
            return playing.result()

    def _open(self) -> None:
        self._progress.enter("ingesting the first file of each table: Spark warms up and creates the tables")
        self._uploader.start()

    def _watch(self, screen: Screen, pipeline: Future[RunReport], stop: threading.Event) -> None:
        """Wait until everything has arrived, or something has failed, or `stop`."""
        moves, patient_until = -1, 0.0
        with closing(build_queue(self._settings.sources[0])) as queue:
            while not (stop.wait(POLL_SECONDS) or pipeline.done() or self._uploader.failure):
                depth = queue.depth() or QueueDepth(0, 0)
                self._progress.note_queue(depth.visible, depth.in_flight)
                view = self._progress.take_snapshot()
                screen.show(view)
                if view.moves != moves:
                    moves, patient_until = view.moves, time.monotonic() + PATIENCE_SECONDS
                is_late = time.monotonic() > patient_until
                if self._has_written(is_late) and (
                    is_late or (self._progress.has_all() and not depth.visible and not depth.in_flight)
                ):
                    return

    def _has_written(self, is_late: bool) -> bool:
        """True if the scenario is complete; opens the shop when it is time."""
        if self._uploader.ident is None:
            return False
        if not self._is_open and (is_late or self._progress.is_warm()):
            self._is_open = True
            self._progress.enter("the shop is open: objects arrive, tables follow")
            self._uploader.open_shop()
        if self._uploader.is_alive():
            return False
        self._progress.enter("all objects are uploaded; waiting for the tables")
        return True

    def _end(self, screen: Screen, pipeline: Future[RunReport]) -> None:
        self._ended.set()
        self._uploader.open_shop()
        self._progress.enter("stopping the pipeline: finishing open batches")
        while not pipeline.done():
            screen.show(self._progress.take_snapshot())
            time.sleep(POLL_SECONDS)
        if self._uploader.ident is not None:
            self._uploader.join()

    def _check(self, done: RunReport, workspace: Workspace, command: str) -> Report:
        view = self._progress.take_snapshot()
        expected = read_plainly(read_uploads(self._cloud, self._scenario))
        lake = self._settings.lake
        checks = []
        for name, rows in expected.rows.items():
            columns = list(rows[0]) if rows else []
            found = SnapshotReader(table_path(lake, name)).read(columns).to_pylist()
            checks.append(compare_rows(name, rows, found))
        keys = SnapshotReader(events_path(lake)).read(["key"])["key"].to_pylist()
        findings = Findings(
            checks=checks,
            quarantine=QuarantineReader(quarantine_path(lake)).list_rows(),
            event_keys=[key for key in keys if not key.startswith(SHELF_FOLDER)],
            dead_letters=self._cloud.count_dead_letters(),
            scheme=self._cloud.scheme,
            failures=[f"table {name}: {error.message}" for name, error in done.failures.items()],
            finale=self._finale,
        )
        return build_report(self._scenario, expected, findings, view, workspace.config_path, command)


def _keep_emulator(
    console: Console, cloud: Cloud, workspace: Workspace, command: str, stop: threading.Event
) -> None:
    exports = " ".join(f"{name}={value}" for name, value in cloud.environment.items())
    lines = (
        "\nThe emulator runs until Ctrl-C. To continue in another terminal:",
        *([f"  export {exports}"] if exports else []),
        f"  {command} --config {workspace.config_path} run",
    )
    print_plain(console, "\n".join(lines))
    stop.wait()


@contextmanager
def _log_to(path: Path) -> Iterator[None]:
    """Send log lines to a file: they would break the screen."""
    root = logging.getLogger()
    before = root.handlers[:]
    configure_logging(verbose=root.isEnabledFor(logging.DEBUG), json=True)
    with path.open("a", encoding="utf-8") as log:
        for handler in root.handlers:
            if isinstance(handler, logging.StreamHandler):
                handler.setStream(log)
        try:
            yield
        finally:
            root.handlers[:] = before

"""`World`: one episode. Runs the scenario's steps, crashes and restarts the process, comes to rest."""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headwater.capture.position import Position
from headwater.errors import IngestError, LakeError
from simulator.bugs import NO_BUGS, Bugs
from simulator.contents import KEYS, build_content
from simulator.invariants import Watch
from simulator.outside.bucket import Bucket, BucketStore
from simulator.outside.channel import Channel
from simulator.outside.clock import SimulatedClock
from simulator.outside.crash import Crashes, ProcessDied
from simulator.outside.hudi import HudiTable
from simulator.outside.queue import QueueLimits, SimulatedQueue
from simulator.product.data_rows import TableKind
from simulator.product.ledger import Machines
from simulator.product.pipeline import SimulatedPipeline
from simulator.product.process import Outside, Process, build_lake
from simulator.scenario import Scenario, Step
from simulator.violation import InvariantBrokenError

_REST_ROUNDS = 60


@dataclass(slots=True)
class Report:
    """What an episode did. `trace` has one line per effect; equal scenarios have equal traces."""

    steps: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    trace: list[str] = field(default_factory=list)
    broken: InvariantBrokenError | None = None

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()


class World:
    """Outside state lives as long as the world; `process` is replaced after each crash."""

    def __init__(self, scenario: Scenario, bugs: Bugs = NO_BUGS) -> None:
        self.scenario = scenario
        self.report = Report()
        self._bugs = bugs
        self.clock = SimulatedClock()
        self.crashes = Crashes()
        self.bucket = Bucket(scenario.versioning, self.clock)
        # A merge orders by time, which a listing has only to the second.
        self.bucket.writes_apart = "merge" in scenario.tables
        self.store = BucketStore(self.bucket)
        self.queue = SimulatedQueue(
            QueueLimits(max_receives=scenario.max_receives, max_in_flight=scenario.max_in_flight), self.clock
        )
        self.channel = Channel(self.queue)
        self.lake = build_lake(scenario, self.clock, self.crashes)
        self.watch = Watch(self.bucket, self.store, self.lake, self.queue)
        self.watch.on_note = self._note
        self._outside = Outside(
            self.bucket,
            self.store,
            self.queue,
            self.clock,
            self.crashes,
            self.channel.notify,
            Machines(scenario.tables),
        )
        self._handlers = self._build_handlers()
        self.is_lossy = False
        # How often messages were legitimately redelivered.
        self._returns = 0
        self.process = self._start()

    def _start(self, positions: dict[TableKind, Position] | None = None) -> Process:
        process = Process(self.scenario, self._outside, self.lake, self._bugs, self.watch)
        if "position_kept_after_crash" in self._bugs:
            for pipeline in process.pipelines:
                if positions:
                    pipeline.restore(positions[pipeline.kind])
        return process

    def run(self) -> Report:
        """Runs all steps, comes to rest and checks all invariants. The report holds a broken one."""
        self.crashes.arm(self.scenario.crash_at)
        try:
            for step in self.scenario.steps:
                self.take(step)
            self.rest()
        except InvariantBrokenError as broken:
            self.report.broken = broken
            self._note(f"BROKEN {broken}")
        self._count()
        return self.report

    def take(self, step: Step) -> None:
        """Runs one step, including a crash during it."""
        self.report.steps += 1
        try:
            result = self._handlers[step.name](step.a, step.b)
            self._note(f"{step} -> {result}")
        except ProcessDied as death:
            self._note(f"{step} -> died: {death}")
            self._restart()
        except (LakeError, IngestError) as error:
            self.report.counts["failed batches"] += 1
            self._note(f"{step} -> {error.message}")

    def _restart(self) -> None:
        self._returns += 1
        positions = self.process.positions
        self.watch.note_death()
        self.process = self._start(positions)

    def _build_handlers(self) -> dict[str, Callable[[int, int], object]]:
        return {
            "put": self._put,
            "remove": lambda a, b: self.channel.notify(self.bucket.remove(self._key(a), b)),
            "remove_version": lambda a, b: self.channel.notify(
                self.bucket.remove_version(self._key(a), b, b)
            ),
            "tag": lambda a, _: self.channel.notify(self.bucket.tag(self._key(a))),
            "deliver": self.channel.deliver,
            "duplicate": lambda a, b: self.channel.deliver(a, b, keep=True),
            "drop": self._drop,
            "replay": lambda a, _: self.channel.replay(a),
            "rubbish": lambda a, _: self.channel.send_rubbish(a),
            "receive": lambda a, b: self.process.capture.receive(1 + a % 10, b),
            "commit": lambda a, b: self.process.capture.commit(force=a % 2 == 0, quarantine_last=b % 2 == 0),
            "delete": self._delete,
            "beat": lambda _a, _b: self.process.capture.beat(),
            "ingest": lambda a, _: self._pipeline(a).run_batch() is not None,
            "save": lambda a, _: self._pipeline(a).save_checkpoint(),
            "service": self._serve_table,
            "race": self._race,
            "reconcile": self._resume_reconcile,
            "clean": self._clean,
            "request": lambda a, b: self.process.request(self._key(a), a >> 3, b),
            "redrive": lambda _a, _b: self.queue.redrive(),
            "outage": self._break_store,
            "fail": self._fail_commit,
            "advance": self._wait,
            "crash": lambda a, _: self.crashes.arm(1 + a % 40),
            "kill": self._kill,
            "stop": self._stop,
        }

    def _delete(self, a: int, b: int) -> int:
        overtaken = b % 11 == 0
        self._returns += overtaken
        return self.process.capture.delete(
            1 + a % 5, answer_lost=b % 5 == 0, refused=b % 7 == 0, overtaken=overtaken
        )

    def _wait(self, a: int, _b: int) -> None:
        self._returns += 1
        self.clock.advance((0.3, 1.5, 11, 31, 400)[a % 5])

    def _key(self, a: int) -> str:
        return KEYS[a % self.scenario.keys]

    def _pipeline(self, a: int) -> SimulatedPipeline:
        return self.process.pipelines[a % len(self.process.pipelines)]

    def _put(self, a: int, b: int) -> None:
        self.channel.notify(self.bucket.put(self._key(a), build_content(b), b >> 4))

    def _drop(self, a: int, _b: int) -> None:
        record = self.channel.drop(a)
        if record is not None:
            self.is_lossy = True

    def _race(self, a: int, b: int) -> None:
        """Schedules a concurrent write before one of the next requests to the store."""
        if b % 3:
            self.store.add_race(lambda: self._put(a, b))
        else:
            self.store.add_race(lambda: self.channel.notify(self.bucket.remove(self._key(a), b)))

    def _clean(self, a: int, _b: int) -> str:
        if self.process.cleaning.is_idle and a % 4:
            # An object stays for a while before it is cleaned, so most objects were ingested before.
            self.channel.deliver_all()
            self.clock.advance(31)
            self._drain_queue()
            self._drain_events()
        return self.process.cleaning.step(self.watch.is_settled)

    def _serve_table(self, a: int, b: int) -> None:
        tables: list[HudiTable[Any]] = [self.lake.events, *self.lake.data.values()]
        for _ in range(1 + b % 4):
            tables[a % len(tables)].add_service_commit()

    def _resume_reconcile(self, a: int, b: int) -> str:
        def commit_concurrently() -> None:
            # Another writer of the events table completes its commit before this one.
            self.process.capture.receive(10)
            self.process.capture.commit(force=True)
            self._pipeline(b).run_batch()

        during_commit = commit_concurrently if a % 2 == 0 else None
        done = self.process.reconcile.step(1 + a % 5, settles=b % 3 == 0, during_commit=during_commit)
        return "goes on" if done is None else f"over: {done.emitted} events"

    def _break_store(self, a: int, _b: int) -> None:
        self.store.outage = 1 + a % 3

    def _fail_commit(self, a: int, b: int) -> None:
        tables: list[HudiTable[Any]] = [self.lake.events, self.lake.quarantine, *self.lake.data.values()]
        tables[a % len(tables)].faults.append("before" if b % 2 else "after")

    def _kill(self, _a: int, _b: int) -> None:
        self.report.counts["kills"] += 1
        self._restart()

    def _stop(self, _a: int, _b: int) -> None:
        """Stops cleanly, as far as tables can be written, and restarts."""
        self.process.capture.commit(force=True)
        self.process.capture.delete(1000)
        self.process.capture.stop()
        try:
            for pipeline in self.process.pipelines:
                pipeline.save_checkpoint()
        finally:
            self._restart()

    # --- rest ---

    def rest(self) -> None:
        """Ends all faults: delivers what waits, reconciles if messages were lost, and checks everything."""
        self.crashes.arm(0)
        self.store.calm()
        for table in self._all_tables():
            table.faults.clear()
        while len(self.channel):
            self.channel.deliver(0, len(self.channel))
        self._drain()
        self.watch.check_dead_letters(self._returns)
        self.watch.check_reads()
        if self.is_lossy or self.queue.dead:
            self._save_checkpoints()
            self.clock.advance(120)
            self._reconcile()
            self._drain()
        self._check()
        if self.queue.redrive():
            # A table that ingests every version treats a returning object as new.
            self._drain()
            self._check()
        self._prove()
        self._replay()

    def _prove(self) -> None:
        """Checks that `verify` reports nothing after a complete pass."""
        self.clock.advance(120)
        self._reconcile()
        self._drain()
        self._check()
        self.watch.check_proof(self.process)

    def _check(self) -> None:
        self._save_checkpoints()
        self.watch.check_all(self.process)

    def _save_checkpoints(self) -> None:
        """Saves what tables decided without rows, as they do after some seconds: a reconcile asks for it."""
        for pipeline in self.process.pipelines:
            pipeline.save_checkpoint()

    def _reconcile(self) -> None:
        """Completes an interrupted pass, then runs a full one."""
        reconcile, begun_at = self.process.reconcile, self.clock.next_moment()
        while (done := reconcile.step()) is None or done.started_at < begun_at:
            pass

    def _drain(self) -> None:
        """Drains the queue to the events table, and the events table to the tables."""
        for _ in range(_REST_ROUNDS):
            self._returns += 1
            self.clock.advance(31)
            if self._drain_queue() and self._drain_events():
                return
        left = f"{len(self.queue.letters)} messages left"
        raise InvariantBrokenError("I11", f"no rest after {_REST_ROUNDS} rounds: {left}")

    def _drain_queue(self) -> bool:
        capture = self.process.capture
        while capture.receive(10):
            pass
        capture.commit(force=True)
        capture.delete(1000)
        return not self.queue.letters and capture.is_idle

    def _drain_events(self) -> bool:
        for pipeline in self.process.pipelines:
            try:
                for _ in range(_REST_ROUNDS * 10):
                    if pipeline.run_batch() is None:
                        break
                else:
                    raise InvariantBrokenError("I11", f"{pipeline.kind} reads the same events for ever")
            except (LakeError, IngestError) as error:
                self._note(f"batch of {pipeline.kind} failed: {error.message}")
                self.report.counts["failed batches at rest"] += 1
                return False
        return True

    def _replay(self) -> None:
        """Replays old messages after a restart: nothing may change."""
        before = self.watch.snapshot()
        self._restart()
        for at in range(min(3, len(self.channel.sent))):
            self.channel.replay(at * 7)
        self._drain()
        self.watch.check_unchanged(before)

    def _all_tables(self) -> list[HudiTable[Any]]:
        lake = self.lake
        return [lake.events, lake.quarantine, lake.ledger, lake.passes, *lake.data.values()]

    def _note(self, line: str) -> None:
        self.report.trace.append(line)

    def _count(self) -> None:
        counts = self.report.counts
        counts["crashes"] = self.crashes.deaths.total()
        for point, hits in self.crashes.deaths.items():
            counts[f"crash: {point}"] = hits
        for source in (self.channel.counts, self.queue.counts, self.store.counts, self.watch.counts):
            counts.update(source)
        for table in self._all_tables():
            counts.update(table.counts)
        for pipe in self.lake.data.values():
            counts["data commits"] += len(pipe.metadata)
        counts["events commits"] += len(self.lake.events.metadata)


def run_scenario(scenario: Scenario, bugs: Bugs = NO_BUGS) -> Report:
    """Runs one episode from start to rest."""
    return World(scenario, bugs).run()

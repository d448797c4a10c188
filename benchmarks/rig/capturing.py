"""Runs the consumer over a loaded queue until it has captured everything."""

import threading
import time

from benchmarks.pairs import say
from headwater.app import App
from headwater.capture.consumer import CommitReport, Consumer, build_options
from headwater.sources.registry import build_queue

LIMIT_SECONDS = 120


def capture(app: App, messages: int) -> float:
    """Seconds in which the consumer commits and deletes that many messages."""
    source = app.settings.sources[0]
    queue = build_queue(source)
    options = build_options(source.queue, app.settings.capture)
    reports: list[CommitReport] = []
    committed = threading.Event()

    def note(report: CommitReport) -> None:
        reports.append(report)
        if sum(report.events for report in reports) >= messages:
            committed.set()

    consumer = Consumer(queue, app.events.append, app.stores.quarantine.append, options, on_commit=note)
    stop = threading.Event()
    thread = threading.Thread(target=consumer.run, args=(stop,))
    started = time.monotonic()
    thread.start()
    committed.wait(LIMIT_SECONDS)
    while consumer.stats.deleted < messages and time.monotonic() < started + LIMIT_SECONDS:
        time.sleep(0.01)
    seconds = time.monotonic() - started
    stats = consumer.stats
    stop.set()
    thread.join()
    queue.close()
    commits = ", ".join(f"{report.events} in {report.seconds:.2f} s" for report in reports)
    say(f"  {stats.events} events, {stats.deleted} deleted; commits: {commits}")
    if stats.events != messages or stats.deleted < messages:
        raise RuntimeError(f"{messages} messages, but {stats}")
    return seconds

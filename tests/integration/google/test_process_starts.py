"""Processes that start while threads are inside gRPC, as Spark's JVM does while messages are received."""

import subprocess
import sys

from tests.fixtures.google import PubSub

SCRIPT = """
import subprocess, sys, threading
from headwater.sources.gcs.clients import build_subscriber

stop = threading.Event()
with build_subscriber(sys.argv[1]) as subscriber:
    def list_all():
        while not stop.is_set():
            list(subscriber.list_subscriptions(project="projects/acme-test"))

    threads = [threading.Thread(target=list_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    # As PySpark starts the JVM: with `preexec_fn`, Python forks.
    commands = (subprocess.Popen(["true"], preexec_fn=lambda: None) for _ in range(100))
    codes = [command.wait(10) for command in commands]
    stop.set()
    for thread in threads:
        thread.join()
print(sum(map(bool, codes)))
"""


def test_processes_start_while_messages_are_received(pubsub: PubSub) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, pubsub.endpoint],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout == "0\n", done.stderr

"""SIGTERM and SIGINT ask for an orderly stop, and a stop that hangs is ended after a bounded time."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from headwater.cli.signals import stop_on_signals
from tests.fixtures.waiting import wait_until

HANGS = """
import os, signal, sys, threading, time
from headwater.cli import signals
sys.argv += {arguments}
with signals.stop_on_signals(threading.Event(), 0.3):
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_asks_to_stop_and_nothing_is_left_behind(number):
    before = (signal.getsignal(number), threading.active_count())
    stop = threading.Event()
    with stop_on_signals(stop):
        os.kill(os.getpid(), number)
        wait_until(stop.is_set, "the signal")
        os.kill(os.getpid(), number)
    wait_until(
        lambda: (signal.getsignal(number), threading.active_count()) == before, "the end of the deadline"
    )


def test_handlers_are_taken_back_from_whoever_replaced_them():
    stop = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    with stop_on_signals(stop) as rearm:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        rearm()
        os.kill(os.getpid(), signal.SIGINT)
        wait_until(stop.is_set, "the signal")
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("as_json", [False, True])
def test_stop_that_hangs_is_ended_with_an_error(as_json):
    code = HANGS.format(arguments=["--json"] if as_json else [])
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert time.monotonic() - began < 20
    assert (done.returncode, done.stdout) == (1, "")
    if as_json:
        assert "did not stop within" in json.loads(done.stderr)["message"]
    else:
        error, hint = done.stderr.splitlines()
        assert error.startswith("error: did not stop within 0 s")
        assert "resumes from the last commit" in hint

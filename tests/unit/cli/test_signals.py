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


class Guarded(threading.Event):
    """An event as the main thread meets it on its way into `wait`: the lock that `set` needs is held."""

    def __init__(self) -> None:
        super().__init__()
        self.held = threading.Lock()

    def set(self) -> None:
        with self.held:
            super().set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_that_interrupts_the_main_thread_with_a_lock_held_blocks_nothing(number: int) -> None:
    stop, reload = Guarded(), Guarded()
    with stop_on_signals(stop, on_hangup=reload.set):
        with stop.held, reload.held:
            os.kill(os.getpid(), number)
            time.sleep(0.01)
        wait_until((reload if number == signal.SIGHUP else stop).is_set, "the signal")


def test_handlers_are_taken_back_from_whoever_replaced_them():
    stop = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    with stop_on_signals(stop) as handlers:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        handlers.arm()
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


def test_hangup_asks_for_a_reload_and_the_signals_that_stop_still_do():
    stop, reload = threading.Event(), threading.Event()
    before = signal.getsignal(signal.SIGHUP)
    with stop_on_signals(stop, on_hangup=reload.set) as handlers:
        os.kill(os.getpid(), signal.SIGHUP)
        wait_until(reload.is_set, "the reload")
        assert (stop.is_set(), handlers.was_asked.is_set()) == (False, False)
        # A reload has ended the run: a signal must end the process nevertheless.
        stop.set()
        os.kill(os.getpid(), signal.SIGTERM)
        wait_until(handlers.was_asked.is_set, "the signal")
    assert signal.getsignal(signal.SIGHUP) is before


IN_TERMINAL = """
import os, pty, signal, sys, threading
from headwater.cli.signals import stop_on_signals
child, terminal = pty.fork()
if child:
    assert os.read(terminal, 5) == b"ready"
    os.kill(child, signal.SIGHUP)
    assert os.read(terminal, 8) == b"reloaded"
    os.close(terminal)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop, reload = threading.Event(), threading.Event()
with stop_on_signals(stop, on_hangup=reload.set):
    os.write(1, b"ready")
    reload.wait(20)
    reload.clear()
    os.write(1, b"reloaded")
    stop.wait(20)
    os._exit(7 if stop.is_set() and not reload.is_set() else 1)
"""


def test_closing_the_terminal_of_a_run_stops_it():
    done = subprocess.run([sys.executable, "-c", IN_TERMINAL], timeout=60, check=False)
    assert done.returncode == 7

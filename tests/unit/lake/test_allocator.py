"""Threads share the memory that they have freed."""

import os
import subprocess
import sys

import pytest

COUNT_ARENAS = """
import ctypes, os, sys, tempfile, threading
from headwater.lake.allocator import limit_arenas
libc = ctypes.CDLL(None)
if not hasattr(libc, "malloc_info"):
    sys.exit(0)
limit_arenas(os.environ)
together = threading.Barrier(9)
def allocate():
    blocks = [bytes(1_000) for _ in range(100)]
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads:
    thread.start()
together.wait()
libc.fopen.restype = ctypes.c_void_p
with tempfile.NamedTemporaryFile() as file:
    stream = ctypes.c_void_p(libc.fopen(file.name.encode(), b"w"))
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    print(file.read().count(b"<heap nr="))
"""


def count_arenas(environ: dict[str, str]) -> int:
    inherited = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    done = subprocess.run(
        [sys.executable, "-c", COUNT_ARENAS],
        env={**inherited, **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    if not done.stdout:
        pytest.skip("the C library has no arenas to count")
    return int(done.stdout)


def test_threads_share_two_arenas_unless_the_environment_says_otherwise() -> None:
    assert count_arenas({}) <= 2
    assert count_arenas({"MALLOC_ARENA_MAX": "4"}) == 4

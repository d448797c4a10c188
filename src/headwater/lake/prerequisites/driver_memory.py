"""The heap of a driver by the machine: the tasks of a `local` master run in it, one for each core."""

import os
from pathlib import Path

_LEAST_MIB = 2048
_MIB_A_CORE = 512
"""A task holds a block of rows as read, as cached and as written. With half of this, batches of gigabytes end
the JVM."""
_MIB = 1024**2

_CONTAINER_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def choose_driver_memory(cores: int, memory: int) -> str:
    """Return Spark's text for the heap of a driver that runs `cores` tasks, on a machine of `memory` bytes.

    2 GiB, or 512 MiB a core if that is more; at most half of the memory, but not less than 1 GiB.
    """
    wanted = max(_LEAST_MIB, _MIB_A_CORE * cores)
    return f"{min(wanted, max(memory // 2 // _MIB, _LEAST_MIB // 2))}m"


def measure_memory(limits: tuple[Path, ...] = _CONTAINER_LIMITS) -> int:
    """Return the memory in bytes of this machine, or of this container if that is limited."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in limits:
        try:
            text = file.read_text("ascii").strip()
        except OSError:
            continue
        # Without a limit: `max`, or a number above the machine's memory.
        found += [int(text)] if text.isdigit() else []
    return min(found)


def count_local_cores(master: str) -> int:
    """Return the number of tasks that a master runs in the driver at the same time."""
    if master == "local":
        return 1
    if not master.startswith("local["):
        return 0
    number = master.removeprefix("local[").partition("]")[0].partition(",")[0].strip()
    return int(number) if number.isdigit() else os.cpu_count() or 1

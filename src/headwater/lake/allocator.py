"""How the C library of this process, and of its JVM, gives memory to threads."""

import ctypes
from collections.abc import Mapping
from contextlib import suppress

ARENAS_VARIABLE = "MALLOC_ARENA_MAX"
ARENAS = "2"
_M_ARENA_MAX = -8
"""In glibc's malloc.h."""


def limit_arenas(environ: Mapping[str, str]) -> None:
    """Let all threads of this process share two arenas; call it before there are others.

    glibc gives them up to eight arenas for each core, and an arena keeps most of what its threads have freed:
    a run of three tables kept 40 MB after half an hour, and ever more. `MALLOC_ARENA_MAX` has priority. Other
    C libraries have no such setting.
    """
    if ARENAS_VARIABLE not in environ:
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, int(ARENAS))

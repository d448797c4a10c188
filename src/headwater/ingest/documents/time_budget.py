"""How long a document may be parsed, given what the documents before it took. Pure."""

import threading

_LEAST_SECONDS = 2.0
_SECONDS_A_MEGABYTE = 1.0


class TimeBudget:
    """Limits the time that one Spark task loses to documents without a result. Thread-safe.

    The first document may take `longest` seconds. Each that takes its limit without a result halves the limit
    of the following ones, down to 2 s, and a second more for each megabyte. So a hundred hostile files of
    1 MB take 7 minutes of one core instead of 100. The ordinary ones among them are parsed all the same, as
    they take less than the least limit.
    """

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._lock = threading.Lock()
        self._wasted = 0.0

    def choose_limit(self, size: int) -> float:
        """Return the seconds of CPU that a document of `size` bytes may take."""
        least = _LEAST_SECONDS + _SECONDS_A_MEGABYTE * size / 1024**2
        with self._lock:
            half_of_rest = (2 * self._longest - self._wasted) / 2
        return min(self._longest, max(least, half_of_rest))

    def note_wasted(self, seconds: float) -> None:
        """Subtract what a document took that has no result."""
        with self._lock:
            self._wasted += seconds

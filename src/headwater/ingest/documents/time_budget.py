"""How long a document may be parsed, given what the documents before it took. Pure."""

import threading
from collections import defaultdict
from math import inf

_LEAST_SECONDS = 2.0
_SECONDS_A_MEGABYTE = 1.0
_DOCUMENTS_AN_ARCHIVE = 10


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
        self._archives: defaultdict[str, float] = defaultdict(float)

    def choose_limit(self, size: int, archive: str = "") -> float:
        """Return the seconds of CPU that a document of `size` bytes may take.

        Members of an `archive` share the time of ten documents: 10,000 of them are one object. 0: the rest of
        that is too short for another one.
        """
        least = min(self._longest, _LEAST_SECONDS + _SECONDS_A_MEGABYTE * size / 1024**2)
        with self._lock:
            half_of_rest = (2 * self._longest - self._wasted) / 2
            left = _DOCUMENTS_AN_ARCHIVE * self._longest - self._archives[archive] if archive else inf
        return min(self._longest, max(least, half_of_rest), left) if left >= least else 0.0

    def note(self, seconds: float, archive: str = "", *, is_wasted: bool) -> None:
        """Note what a document took; `is_wasted` if it has no result."""
        with self._lock:
            if is_wasted:
                self._wasted += seconds
            if archive:
                self._archives[archive] += seconds

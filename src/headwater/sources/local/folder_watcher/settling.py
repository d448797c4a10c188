"""`Settling`: files that are being written, until they have been unchanged for a while. Pure."""

from dataclasses import dataclass


@dataclass(slots=True)
class _Unsettled:
    quiet_since: float
    etag: str | None


class Settling:
    """Times are seconds of one monotonic clock. Not thread-safe."""

    def __init__(self, settle_seconds: float) -> None:
        self._settle_seconds = settle_seconds
        # Ordered by `quiet_since`.
        self._keys: dict[str, _Unsettled] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def touch(self, key: str, now: float, etag: str | None = None) -> None:
        """Record a change of `key`; `etag` if the file was read."""
        self._keys.pop(key, None)
        self._keys[key] = _Unsettled(now, etag)

    def add_listed(self, key: str, now: float, etag: str) -> None:
        """Record that a listing contains `key`, which alone is no change."""
        if key not in self._keys:
            self.touch(key, now, etag)

    def take_due(self, now: float) -> list[tuple[str, str | None]]:
        """Remove the keys that were quiet long enough; return each with the etag of its last change."""
        due = []
        for key, unsettled in self._keys.items():
            if unsettled.quiet_since + self._settle_seconds > now:
                break
            due.append((key, unsettled.etag))
        for key, _ in due:
            del self._keys[key]
        return due

    def next_due_at(self) -> float | None:
        """Return when the next key will have been quiet long enough; None if there is none."""
        for unsettled in self._keys.values():
            return unsettled.quiet_since + self._settle_seconds
        return None

"""`InFlight`: messages received and not yet deleted, their newest handles and due heartbeats. Pure."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Delivery = Literal["new", "held", "done"]

# Hidden for three heartbeats: two may fail.
HEARTBEATS_PER_TIMEOUT = 3
_REMEMBERED = 20_000


@dataclass(slots=True)
class _Held:
    handle: str
    hidden_at: float
    heartbeat: bool = True


class InFlight:
    """Times are seconds of one monotonic clock. Not thread-safe."""

    def __init__(self, visibility_seconds: float, remembered: int = _REMEMBERED) -> None:
        self._heartbeat_seconds = visibility_seconds / HEARTBEATS_PER_TIMEOUT
        # Ordered by `hidden_at`, so that messages due for a heartbeat come first.
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._committed: OrderedDict[str, None] = OrderedDict()
        self._remembered = remembered

    def __len__(self) -> int:
        return len(self._held)

    def receive(self, message_id: str, handle: str, now: float) -> Delivery:
        """Record a delivery; its handle is now the newest.

        "new": never seen, or forgotten. "held": another delivery of it is in process. "done": its content is
        committed, and only the deletion remains.
        """
        known = message_id in self._held
        self._held[message_id] = _Held(handle, now)
        self._held.move_to_end(message_id)
        if message_id in self._committed:
            return "done"
        return "held" if known else "new"

    def handles(self, message_ids: Iterable[str]) -> dict[str, str]:
        """Return the newest handles of those messages that are held."""
        return {
            message_id: self._held[message_id].handle
            for message_id in message_ids
            if message_id in self._held
        }

    def commit(self, message_ids: Iterable[str]) -> None:
        """Mark the messages as committed. Remembers them for a while after their deletion."""
        for message_id in message_ids:
            self._committed[message_id] = None
            self._committed.move_to_end(message_id)
        while len(self._committed) > self._remembered:
            self._committed.popitem(last=False)

    def finish(self, used: Mapping[str, str]) -> list[str]:
        """Release messages after a deletion with `used` handles, whether or not it succeeded.

        Returns messages that were redelivered in the meantime: the used handle was stale, so they are not
        deleted and still held.
        """
        again = []
        for message_id, handle in used.items():
            held = self._held.get(message_id)
            if held is None:
                continue
            if held.handle == handle:
                del self._held[message_id]
            else:
                again.append(message_id)
        return again

    def take_uncommitted(self) -> dict[str, str]:
        """Release all uncommitted messages; return their handles."""
        taken = {name: held.handle for name, held in self._held.items() if name not in self._committed}
        for message_id in taken:
            del self._held[message_id]
        return taken

    def find_due(self, now: float) -> dict[str, str]:
        """Return the handles of messages that need a heartbeat at `now`."""
        due = {}
        for message_id, held in self._held.items():
            if held.hidden_at + self._heartbeat_seconds > now:
                break
            if held.heartbeat:
                due[message_id] = held.handle
        return due

    def next_due_at(self) -> float | None:
        """Return the time of the next heartbeat; None if no message is held."""
        for held in self._held.values():
            if held.heartbeat:
                return held.hidden_at + self._heartbeat_seconds
        return None

    def extend(self, used: Mapping[str, str], failed: Iterable[str], now: float) -> None:
        """Record a heartbeat at `now` with `used` handles.

        A message whose extension failed gets no further one: another consumer may have it. A newer delivery
        is not affected.
        """
        failures = frozenset(failed)
        for message_id, handle in used.items():
            held = self._held.get(message_id)
            if held is None or held.handle != handle:
                continue
            held.hidden_at = now
            held.heartbeat = message_id not in failures
            self._held.move_to_end(message_id)

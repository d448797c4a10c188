"""`InFlight`: messages received and not yet deleted, their newest handles, who needs a heartbeat. Pure."""

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
        # In the order of `hidden_at`, so that who needs a heartbeat stands in front.
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._committed: OrderedDict[str, None] = OrderedDict()
        self._remembered = remembered

    def __len__(self) -> int:
        return len(self._held)

    def receive(self, message_id: str, handle: str, now: float) -> Delivery:
        """Take note of a delivery; its handle is now the newest.

        "new": never seen, or forgotten. "held": another delivery of it is being worked on. "done": what
        is in it is committed, it only has to be deleted.
        """
        known = message_id in self._held
        self._held[message_id] = _Held(handle, now)
        self._held.move_to_end(message_id)
        if message_id in self._committed:
            return "done"
        return "held" if known else "new"

    def handles(self, message_ids: Iterable[str]) -> dict[str, str]:
        """The newest handles of those messages that are held."""
        return {
            message_id: self._held[message_id].handle
            for message_id in message_ids
            if message_id in self._held
        }

    def commit(self, message_ids: Iterable[str]) -> None:
        """What is in these messages is committed. Remembered a while, also after they are deleted."""
        for message_id in message_ids:
            self._committed[message_id] = None
            self._committed.move_to_end(message_id)
        while len(self._committed) > self._remembered:
            self._committed.popitem(last=False)

    def finish(self, used: Mapping[str, str]) -> list[str]:
        """Let go of messages after a deletion with `used` handles, whether it worked or not.

        Returns those that were delivered again meanwhile: the handle used was stale, so nothing was
        deleted, and they are still held.
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
        """Let go of all messages that are not committed; returns their handles."""
        taken = {name: held.handle for name, held in self._held.items() if name not in self._committed}
        for message_id in taken:
            del self._held[message_id]
        return taken

    def find_due(self, now: float) -> dict[str, str]:
        """Handles of the messages that need a heartbeat at `now`."""
        due = {}
        for message_id, held in self._held.items():
            if held.hidden_at + self._heartbeat_seconds > now:
                break
            if held.heartbeat:
                due[message_id] = held.handle
        return due

    def next_due_at(self) -> float | None:
        """When the next heartbeat is needed; None when nothing is held."""
        for held in self._held.values():
            if held.heartbeat:
                return held.hidden_at + self._heartbeat_seconds
        return None

    def extend(self, used: Mapping[str, str], failed: Iterable[str], now: float) -> None:
        """Take note of a heartbeat at `now` with `used` handles.

        A message whose extension failed gets no further one: somebody else may have it. A delivery
        that came meanwhile is not touched.
        """
        failures = frozenset(failed)
        for message_id, handle in used.items():
            held = self._held.get(message_id)
            if held is None or held.handle != handle:
                continue
            held.hidden_at = now
            held.heartbeat = message_id not in failures
            self._held.move_to_end(message_id)

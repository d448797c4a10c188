"""`InFlight`: messages received and not yet deleted, their newest handles and due heartbeats. Pure."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Literal

Delivery = Literal["new", "held", "done"]

# Hidden for three heartbeats: two may fail.
HEARTBEATS_PER_TIMEOUT = 3
# A message that is still here at its first heartbeat belongs to a slow commit or a long backlog: a longer
# timeout saves most of the calls. If this process dies, the message comes back that much later.
_EXTENSION_FACTOR = 4
_LONGEST_TIMEOUT = 43_200  # of SQS: twelve hours
_REMEMBERED = 20_000


def choose_extension(visibility_seconds: float) -> float:
    """Return for how many seconds a heartbeat hides a message."""
    return max(visibility_seconds, min(_EXTENSION_FACTOR * visibility_seconds, _LONGEST_TIMEOUT))


class InFlight:
    """Times are seconds of one monotonic clock. Not thread-safe.

    Messages are hidden for `visibility_seconds` when they are received, and for `choose_extension` of them
    from a heartbeat on.
    """

    def __init__(self, visibility_seconds: float, remembered: int = _REMEMBERED) -> None:
        self._heartbeat_seconds = visibility_seconds / HEARTBEATS_PER_TIMEOUT
        self._extended_seconds = choose_extension(visibility_seconds) / HEARTBEATS_PER_TIMEOUT
        self._handles: dict[str, str] = {}
        # Times of the next heartbeats, each in the order of time, since all its timeouts are equally long.
        self._received: OrderedDict[str, float] = OrderedDict()
        self._extended: OrderedDict[str, float] = OrderedDict()
        self._committed: OrderedDict[str, None] = OrderedDict()
        self._remembered = remembered

    def __len__(self) -> int:
        return len(self._handles)

    def receive(self, message_id: str, handle: str, now: float) -> Delivery:
        """Record a delivery; its handle is now the newest.

        "new": never seen, or forgotten. "held": another delivery of it is in process. "done": its content is
        committed, and only the deletion remains.
        """
        known = message_id in self._handles
        if known:
            self._forget(message_id)
        self._handles[message_id] = handle
        self._received[message_id] = now + self._heartbeat_seconds
        if message_id in self._committed:
            return "done"
        return "held" if known else "new"

    def _forget(self, message_id: str) -> None:
        del self._handles[message_id]
        self._received.pop(message_id, None)
        self._extended.pop(message_id, None)

    def handles(self, message_ids: Iterable[str]) -> dict[str, str]:
        """Return the newest handles of those messages that are held."""
        return {name: self._handles[name] for name in message_ids if name in self._handles}

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
            held = self._handles.get(message_id)
            if held == handle:
                self._forget(message_id)
            elif held is not None:
                again.append(message_id)
        return again

    def take_uncommitted(self) -> dict[str, str]:
        """Release all uncommitted messages; return their handles."""
        taken = {name: handle for name, handle in self._handles.items() if name not in self._committed}
        for message_id in taken:
            self._forget(message_id)
        return taken

    def find_due(self, now: float) -> dict[str, str]:
        """Return the handles of messages that need a heartbeat at `now`."""
        due = {}
        for beats in (self._received, self._extended):
            for message_id, due_at in beats.items():
                if due_at > now:
                    break
                due[message_id] = self._handles[message_id]
        return due

    def next_due_at(self) -> float | None:
        """Return the time of the next heartbeat; None if no message needs one."""
        beats = (self._received, self._extended)
        return min((next(iter(times.values())) for times in beats if times), default=None)

    def extend(self, used: Mapping[str, str], failed: Iterable[str], now: float) -> None:
        """Record a heartbeat at `now` with `used` handles.

        A message whose extension failed gets no further one: another consumer may have it. A newer delivery
        is not affected.
        """
        failures = frozenset(failed)
        for message_id, handle in used.items():
            if self._handles.get(message_id) != handle:
                continue
            self._received.pop(message_id, None)
            self._extended.pop(message_id, None)
            if message_id not in failures:
                self._extended[message_id] = now + self._extended_seconds

"""A queue with the behaviour of SQS: visibility timeouts, stale handles, receive counts, DLQ, a limit."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from headwater.sources.queue import Message
from simulator.outside.clock import SimulatedClock


@dataclass(slots=True)
class Letter:
    """A message and its state in the queue."""

    message_id: str
    body: str
    attributes: Mapping[str, str]
    visible_at: float
    receives: int = 0
    handle: str = ""


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """Limits in seconds and counts, small enough to be reached in a short run."""

    visibility: float = 30
    max_receives: int = 5
    max_in_flight: int = 60


class SimulatedQueue:
    """Deletes only by the newest handle; an older handle deletes nothing and reports success."""

    def __init__(self, limits: QueueLimits, clock: SimulatedClock) -> None:
        self.limits = limits
        self._clock = clock
        self.letters: dict[str, Letter] = {}
        self.dead: list[Letter] = []
        self._sent = 0
        self.counts: Counter[str] = Counter()
        self.on_delete: Callable[[Letter], None] = lambda _: None
        self.on_stale: Callable[[Letter], None] = lambda _: None

    def send(self, body: str, attributes: Mapping[str, str] | None = None) -> str:
        self._sent += 1
        message_id = f"message-{self._sent}"
        self.letters[message_id] = Letter(message_id, body, attributes or {}, self._clock.monotonic())
        return message_id

    def receive(self, wanted: int, skip: int = 0) -> list[Message]:
        """Returns some of the visible messages, starting with the `skip`-th: order is not preserved."""
        now = self._clock.monotonic()
        visible = [letter for letter in self.letters.values() if letter.visible_at <= now]
        room = self.limits.max_in_flight - (len(self.letters) - len(visible))
        if room <= 0 and visible:
            self.counts["over limit"] += 1
        start = skip % len(visible) if visible else 0
        chosen = (visible[start:] + visible[:start])[: max(0, min(wanted, room))]
        return [self._hand_out(letter) for letter in chosen if not self._bury(letter)]

    def _bury(self, letter: Letter) -> bool:
        if letter.receives < self.limits.max_receives:
            return False
        self.dead.append(self.letters.pop(letter.message_id))
        self.counts["dead letters"] += 1
        return True

    def _hand_out(self, letter: Letter) -> Message:
        letter.receives += 1
        letter.handle = f"{letter.message_id}/{letter.receives}"
        letter.visible_at = self._clock.monotonic() + self.limits.visibility
        self.counts["redelivered" if letter.receives > 1 else "received"] += 1
        now = self._clock.now()
        return Message(
            letter.message_id, letter.handle, letter.body, now, letter.attributes, letter.receives, now
        )

    def ack(self, handles: Mapping[str, str]) -> None:
        for message_id, handle in handles.items():
            letter = self.letters.get(message_id)
            if letter is None:
                continue
            if letter.handle != handle:
                self.counts["stale handles"] += 1
                self.on_stale(letter)
                continue
            self.on_delete(letter)
            del self.letters[message_id]
            self.counts["deleted"] += 1

    def extend(self, handles: Mapping[str, str], seconds: float) -> list[str]:
        """Extends the visibility timeout; returns the messages for which this failed."""
        now = self._clock.monotonic()
        failed = []
        for message_id, handle in handles.items():
            letter = self.letters.get(message_id)
            if letter is None or letter.handle != handle or letter.visible_at <= now:
                failed.append(message_id)
            else:
                letter.visible_at = now + seconds
        return failed

    def expire(self, message_ids: Iterable[str]) -> None:
        """Ends the visibility timeout of the messages, so that another call may receive them."""
        for message_id in message_ids:
            if message_id in self.letters:
                self.letters[message_id].visible_at = self._clock.monotonic()

    def release(self, handles: Mapping[str, str]) -> None:
        for message_id, handle in handles.items():
            letter = self.letters.get(message_id)
            if letter is not None and letter.handle == handle:
                letter.visible_at = self._clock.monotonic()

    def redrive(self) -> int:
        """Redrives dead letters to the queue, as an operator does days later."""
        moved = len(self.dead)
        for letter in self.dead:
            letter.receives, letter.visible_at = 0, self._clock.monotonic()
            self.letters[letter.message_id] = letter
        self.dead.clear()
        return moved

"""Tests the path from bucket to queue: puts an object, waits for its notification, deletes it."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from headwater.errors import HeadwaterError
from headwater.sources.finding import SetupFinding, to_finding
from headwater.sources.notifications.outcome import MessageParser
from headwater.sources.queue import Message, Queue

NAME = "probe"
PROBE_FOLDER = "_headwater/"
PROBE_CONTENT = b"headwater probes\n"
# With a larger backlog the probe's message would arrive late, and each message would be received once more.
MAX_BACKLOG = 1_000
# A new EventBridge rule or queue policy takes effect only after some seconds.
PUT_AGAIN_SECONDS = 10.0
POLL_SECONDS = 1.0


@dataclass(slots=True)
class _Seen:
    """Received notifications: event kinds of the probe's object by seconds, and whether the
    store sent its TestEvent.
    """

    kinds: dict[str, float] = field(default_factory=dict)
    test_event: bool = False
    held: dict[str, str] = field(default_factory=dict)
    receives: int = 0


class ProbeObject(Protocol):
    """The object that a probe puts and removes. Its methods raise `SourceError`."""

    @property
    def bucket(self) -> str:
        """The bucket, as events name it."""
        ...

    @property
    def key(self) -> str:
        """The key, which no other probe uses."""
        ...

    def put(self) -> None:
        """Write the object, also over an earlier one."""
        ...

    def remove(self) -> None:
        """Delete all that was put, also versions."""
        ...


def name_probe(prefix: str) -> str:
    """Return a new key for a probe."""
    return f"{prefix}{PROBE_FOLDER}probe-{uuid.uuid4().hex}"


class Probe:
    """One round trip. `queue` must hide received messages for longer than the probe takes."""

    def __init__(
        self,
        stored: ProbeObject,
        queue: Queue,
        parse: MessageParser,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stored = stored
        self._queue = queue
        self._parse = parse
        self._monotonic = monotonic
        self._seen = _Seen()

    def run(self, timeout_seconds: float) -> list[SetupFinding]:
        """Return findings; holds other messages while it runs, then releases them at once."""
        try:
            depth = self._queue.depth()
            if depth and depth.visible > MAX_BACKLOG:
                return [_describe_backlog(depth.visible)]
            return self._go_round(timeout_seconds)
        except HeadwaterError as error:
            return [to_finding(NAME, error)]
        finally:
            self._queue.release(self._seen.held)

    def _go_round(self, timeout_seconds: float) -> list[SetupFinding]:
        is_removed = False
        try:
            created = self._wait_for("created", timeout_seconds, put=True)
            self._stored.remove()
            is_removed = True
            removed = self._wait_for("removed", timeout_seconds, put=False) if created else False
        finally:
            if not is_removed:
                self._stored.remove()
        if not created:
            return [self._describe_silence(timeout_seconds)]
        found = [self._describe("created"), *([self._describe("removed")] if removed else [])]
        if not removed:
            detail = (
                f"no notification of the removal of {self._stored.key} arrived within {timeout_seconds:g} s"
            )
            found.append(SetupFinding(f"{NAME}.removed", "warning", detail, "run `headwater doctor`"))
        return found

    def _wait_for(self, kind: str, timeout_seconds: float, *, put: bool) -> bool:
        started = self._monotonic()
        next_put = started
        while (now := self._monotonic()) - started < timeout_seconds:
            if put and now >= next_put:
                self._stored.put()
                next_put = now + PUT_AGAIN_SECONDS
            for message in self._queue.receive(10, POLL_SECONDS):
                self._take(message, self._monotonic() - started)
            if kind in self._seen.kinds:
                return True
        return False

    def _take(self, message: Message, seconds: float) -> None:
        parsed = self._parse(message.body, message.attributes)
        is_test = any(skip.reason == "test_event" for skip in parsed.skipped)
        events = parsed.events
        is_ours = bool(events) and all(
            (event.bucket, event.key) == (self._stored.bucket, self._stored.key) for event in events
        )
        self._seen.receives += 1
        self._seen.test_event |= is_test
        for event in events if is_ours else ():
            self._seen.kinds.setdefault(event.kind, seconds)
        if is_test or is_ours:
            self._queue.ack({message.message_id: message.receipt_handle})
        else:
            self._seen.held[message.message_id] = message.receipt_handle

    def _describe(self, kind: str) -> SetupFinding:
        what = "put" if kind == "created" else "removed"
        test = " (after the store's TestEvent)" if kind == "created" and self._seen.test_event else ""
        seconds = self._seen.kinds[kind]
        return SetupFinding(
            f"{NAME}.{kind}", "ok", f"an object was {what}; its notification took {seconds:.1f} s{test}"
        )

    def _describe_silence(self, timeout_seconds: float) -> SetupFinding:
        depth = self._queue.depth()
        others = max(0, depth.in_flight - len(self._seen.held)) if depth else 0
        detail = f"an object was put, but no notification arrived within {timeout_seconds:g} s"
        if self._seen.test_event:
            detail += ", although the store's TestEvent arrived"
        if others:
            detail += f"; another consumer has about {others} messages and may have received it"
        fix = (
            "if a `headwater run` is receiving from the queue, this is expected; else run `headwater doctor`"
        )
        return SetupFinding(NAME, "problem", detail, fix)


def _describe_backlog(waiting: int) -> SetupFinding:
    return SetupFinding(
        NAME,
        "warning",
        f"not tested: about {waiting} messages are waiting in the queue, ahead of a test notification",
        "process them with `headwater run`, then run `headwater up` again",
    )

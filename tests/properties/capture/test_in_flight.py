"""Newest handles and heartbeats against a plain model, for any order of what can happen."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from headwater.capture.consumer.in_flight import InFlight, choose_extension

VISIBILITY = 30.0
IDS = st.sampled_from([f"m{number}" for number in range(6)])


class InFlightMachine(RuleBasedStateMachine):
    """The model: the newest handle and the next heartbeat of each message, and what is committed."""

    @initialize()
    def begin(self) -> None:
        self.subject = InFlight(VISIBILITY)
        self.now = 0.0
        self.deliveries = 0
        self.newest: dict[str, str] = {}
        self.due_at: dict[str, float] = {}
        self.gave_up: set[str] = set()
        self.committed: set[str] = set()

    @rule(message_id=IDS)
    def deliver(self, message_id: str) -> None:
        self.deliveries += 1
        handle = f"h{self.deliveries}"
        expected = "new"
        if message_id in self.newest:
            expected = "held"
        if message_id in self.committed:
            expected = "done"
        assert self.subject.receive(message_id, handle, self.now) == expected
        self.newest[message_id] = handle
        self.due_at[message_id] = self.now + VISIBILITY / 3
        self.gave_up.discard(message_id)

    @rule(seconds=st.floats(0.1, 20))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule(message_ids=st.sets(IDS))
    def commit(self, message_ids: set[str]) -> None:
        held = message_ids & self.newest.keys()
        self.subject.commit(held)
        self.committed |= held

    @rule(message_ids=st.sets(IDS), stale=st.sets(IDS))
    def delete(self, message_ids: set[str], stale: set[str]) -> None:
        used = self.subject.handles(message_ids & self.committed)
        used.update(dict.fromkeys(stale & used.keys(), "older"))
        again = self.subject.finish(used)
        assert set(again) == stale & used.keys()
        for name in used.keys() - stale:
            self.newest.pop(name)

    @rule(failing=st.sets(IDS))
    def beat(self, failing: set[str]) -> None:
        due = self.subject.find_due(self.now)
        self.subject.extend(due, failing & due.keys(), self.now)
        for name in due:
            self.due_at[name] = self.now + choose_extension(VISIBILITY) / 3
        self.gave_up |= failing & due.keys()
        assert not self.subject.find_due(self.now)

    @rule()
    def release(self) -> None:
        taken = self.subject.take_uncommitted()
        assert taken == {name: text for name, text in self.newest.items() if name not in self.committed}
        for name in taken:
            self.newest.pop(name)

    @invariant()
    def exactly_the_old_ones_need_a_heartbeat(self) -> None:
        if not hasattr(self, "subject"):
            return
        due = {
            name: handle
            for name, handle in self.newest.items()
            if name not in self.gave_up and self.due_at[name] <= self.now
        }
        assert self.subject.find_due(self.now) == due
        next_due = self.subject.next_due_at()
        assert (next_due is not None and next_due <= self.now) == bool(due)

    @invariant()
    def handles_are_the_newest(self) -> None:
        if hasattr(self, "subject"):
            assert self.subject.handles(list(self.newest)) == self.newest
            assert len(self.subject) == len(self.newest)


TestInFlight = InFlightMachine.TestCase


def test_committed_events_are_remembered_within_bounds() -> None:
    subject = InFlight(VISIBILITY, remembered=3)
    names = [f"m{number}" for number in range(5)]
    for name in names:
        subject.receive(name, "h", 0)
        subject.commit([name])
        subject.finish({name: "h"})
    assert [subject.receive(name, "h2", 1) for name in names] == ["new", "new", "done", "done", "done"]


def test_the_longest_timeout_of_sqs_is_still_extended_in_time() -> None:
    """A timeout of 12 hours cannot be four times as long: the next heartbeat must come before it ends."""
    assert [choose_extension(seconds) for seconds in (30, 20_000, 43_200)] == [120, 43_200, 43_200]
    subject = InFlight(43_200)
    subject.receive("m", "h", 0)
    subject.extend({"m": "h"}, (), 14_400)
    assert subject.next_due_at() == 2 * 14_400
